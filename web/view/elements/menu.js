// Asking for the menu of a frame, a row or a line (view/page/context-menu.js), with the pointer or from the keyboard.

const ASIDE_PX = 8;

// Calls subjectOf(event) where a menu is asked for in `element`: {label, key, stack}, or null for the browser's own menu.
export function offerMenu(element, dispatch, subjectOf) {
  element.addEventListener("contextmenu", (event) => {
    const subject = subjectOf(event);
    if (subject === null) return;
    event.preventDefault();
    const at = event.target.getBoundingClientRect();
    const isPointed = event.clientX >= at.left && event.clientX <= at.right && event.clientY >= at.top
      && event.clientY <= at.bottom;
    dispatch({ type: "menu",
      menu: { ...subject, x: isPointed ? event.clientX : at.left + ASIDE_PX,
        y: isPointed ? event.clientY : at.top + ASIDE_PX } });
  });
}
