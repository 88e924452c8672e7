"use strict";

// Address to which textual.js connects. It is relative to this page, so that any host name and port work.
const address = new URL("ws", location.href);
address.protocol = location.protocol.replace("http", "ws");
const terminal = document.querySelector("#terminal");
terminal.dataset.sessionWebsocketUrl = address.href;
terminal.dataset.fontSize = parseInt(new URLSearchParams(location.search).get("fontsize")) || 16;

// textual.js reports that a session has closed, but not why, and it does not pass the preset on.
const preset = new URLSearchParams(location.search).get("preset");
window.WebSocket = class extends WebSocket {
  constructor(address, ...options) {
    super(preset === null ? address : `${address}&preset=${encodeURIComponent(preset)}`, ...options);
    this.addEventListener("close", (event) => {
      document.querySelector("#reason").textContent =
        event.reason || "The server has ended, or cannot be reached.";
      document.querySelector("#again").focus();
    });
  }
};

document.querySelector("#again").addEventListener("click", () => location.reload());

const begin = window.onload;
window.onload = async (event) => {
  await document.fonts.load("16px 'Roboto Mono'"); // must come first, because the terminal measures its cells only once
  begin(event);
  // Focus the terminal when the app starts to draw. The app assumes at its start that it has no focus, and is
  // notified only of changes of the focus.
  new MutationObserver((changes, observer) => {
    if (document.body.classList.contains("-first-byte")) {
      observer.disconnect();
      document.querySelector(".xterm-helper-textarea").focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
};
