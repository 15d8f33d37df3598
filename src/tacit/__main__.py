"""`python -m tacit` is the command `tacit`."""

from tacit_command import main

if __name__ == "__main__":
    main()
