// Browsers start no workers for pages that are opened as files, and the search runs in one. For such pages
// this runs the worker's script in a hidden frame instead. (The name is what Zensical looks for: without a file
// of this name it would load another from the network.)
if (location.protocol === "file:") {
  const later = (data, deliver) => {
    const copy = structuredClone(data);
    setTimeout(() => deliver(copy));
  };

  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html>";
      this.frame.addEventListener("load", () => this.start(new URL(address, location.href)), { once: true });
      document.documentElement.append(this.frame);
    }

    start(address) {
      const inside = this.frame.contentWindow;
      // What the script sends goes to the code that made the worker, not to the frame itself. As with real workers,
      // messages are copies and arrive later: each side may change its own, or answer at once.
      inside.postMessage = (data) => later(data, (copy) => {
        const event = new MessageEvent("message", { data: copy });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      });
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this.deliver = (data) =>
          later(data, (copy) => inside.dispatchEvent(new inside.MessageEvent("message", { data: copy })));
        this.waiting.splice(0).forEach(this.deliver);
      };
      script.onerror = (event) => this.onerror?.(event);
      inside.document.head.append(script);
    }

    postMessage(data) {
      if (this.deliver) this.deliver(data);
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
