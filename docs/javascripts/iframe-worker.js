// Browsers start no worker from a page that was opened from a disk, and without one the pages cannot be searched there.
// This runs a worker's script in a hidden frame of the page instead. It fetches nothing from elsewhere.
// The file's name tells the theme that no other such script is needed; the class's name is the one its script looks for.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><body></body>";
      const loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      document.body.append(this.frame);
      const receive = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      this.ready = loaded.then(() => {
        this.frame.contentWindow.postMessage = (data) => setTimeout(() => receive(data));
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(url, location.href);
        return new Promise((resolve) => {
          script.onload = resolve;
          this.frame.contentDocument.body.append(script);
        });
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
