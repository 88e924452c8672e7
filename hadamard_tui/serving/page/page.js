"use strict";

// Where textual.js connects to: beside this page, whatever machine and port the browser calls it by.
const address = new URL("ws", location.href);
address.protocol = location.protocol.replace("http", "ws");
const terminal = document.querySelector("#terminal");
terminal.dataset.sessionWebsocketUrl = address.href;
terminal.dataset.fontSize = parseInt(new URLSearchParams(location.search).get("fontsize")) || 16;

// textual.js says that a session has closed, and not why, and it passes no preset on.
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
  await document.fonts.load("16px 'Roboto Mono'"); // the terminal measures its cells once
  begin(event);
  // Once the app draws: it takes itself for unfocused at its start, and hears of the focus only when it changes.
  new MutationObserver((changes, observer) => {
    if (document.body.classList.contains("-first-byte")) {
      observer.disconnect();
      document.querySelector(".xterm-helper-textarea").focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
};
