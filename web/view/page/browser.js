// The parts of the browser that the page writes to: settings, the theme, the address, the clipboard.

import { formatAddress } from "../../model/page/address.js";

const THEME_KEY = "pyrometer.theme";

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Not remembered, then.
  }
}

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function storedTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  remember(THEME_KEY, theme);
}

function writeAddress(address, how) {
  const fragment = "#" + formatAddress(address);
  if (fragment === location.hash) return;
  try {
    if (how === "push") history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  } catch {
    location.hash = fragment;
  }
}

const TYPED_MS = 150;

// A change that a person types or moves is written when they rest: browsers refuse an address that changes many times a
// second.
export function createAddressBar() {
  let typed = null;
  let timer = null;
  const settle = () => {
    clearTimeout(timer);
    if (typed !== null) writeAddress(typed, "replace");
    typed = null;
  };
  return {
    write(address, how) {
      if (how === "push") {
        settle();
        return writeAddress(address, how);
      }
      typed = address;
      clearTimeout(timer);
      timer = setTimeout(settle, TYPED_MS);
      return undefined;
    },
    forget() {
      typed = null;
    },
  };
}

// A page that did not come over https has no clipboard interface; selecting and copying still works there.
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}
