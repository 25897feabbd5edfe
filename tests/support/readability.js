// Runs in the page, see `readability.ts`. Says what is seen there; whether it is readable is judged outside.
globalThis.seen = () => {
  const VISIBLE = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
  const FIELDS =
    '.mantine-Input-input:not([data-variant=unstyled]), .mantine-Checkbox-input, .mantine-Radio-radio, .mantine-Switch-track, input[type=checkbox]:not([class*=mantine])';
  const CLIPS = new Set(['hidden', 'clip']);
  const SCROLLS = new Set(['auto', 'scroll']);
  const modal = [...document.querySelectorAll('[role=dialog]')].findLast((one) =>
    one.checkVisibility(VISIBLE),
  );
  const root = modal ?? document.body;
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
  const backgrounds = (element) => ancestors(element).map((one) => getComputedStyle(one).backgroundColor);
  const name = (element) =>
    `${element.tagName.toLowerCase()} “${(element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent).slice(0, 60)}”`;
  const isShown = (element) => element.checkVisibility(VISIBLE) && !ancestors(element).some(isForReaders);
  /** Only for screen readers. */
  const isForReaders = (element) => {
    const { clipPath, clip, position } = getComputedStyle(element);
    return position === 'absolute' && (clipPath === 'inset(50%)' || clip === 'rect(0px, 0px, 0px, 0px)');
  };
  const isDisabled = (element) =>
    element.closest('[disabled], [data-disabled], [aria-disabled=true], fieldset:disabled') !== null;

  /** Where the text ends that an element shows, and how: undefined if all of it can be seen. */
  const cutBy = (range) => {
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const parents = ancestors(range.startContainer.parentElement);
    let [across, down] = [true, true];
    for (const one of parents) {
      const { overflowX, overflowY, textOverflow, webkitLineClamp, position, display } =
        getComputedStyle(one);
      if (display === 'inline' || display === 'contents') continue;
      const box = one.getBoundingClientRect();
      if (SCROLLS.has(overflowX) && one.scrollWidth > one.clientWidth) across = false;
      if (SCROLLS.has(overflowY)) down = false;
      const isCut =
        (across && CLIPS.has(overflowX) && (right > box.right + 1 || left < box.left - 1)) ||
        (down && CLIPS.has(overflowY) && (bottom > box.bottom + 3 || top < box.top - 3));
      if (isCut) return { by: one, hasEllipsis: textOverflow === 'ellipsis' || webkitLineClamp !== 'none' };
      if (position === 'fixed') break;
    }
    return across && (right > innerWidth + 1 || left < -1)
      ? { by: document.body, hasEllipsis: false }
      : undefined;
  };
  /** The pointer shows the whole text as a title, or the link or the button that it is in does. */
  const canBeRead = (element) => {
    element.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
    const isTitled = element.closest('[title], a[href], button[aria-haspopup]') !== null;
    for (const one of ancestors(element)) one.dispatchEvent(new PointerEvent('pointerleave'));
    return isTitled;
  };

  const cut = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    const parent = text.parentElement;
    if (text.data.trim() === '' || parent.tagName === 'TEXTAREA' || !isShown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const end = cutBy(range);
    if (end && !end.hasEllipsis) cut.push(`without an ellipsis: ${name(parent)}`);
    else if (end && !canBeRead(parent)) cut.push(`without a title: ${name(parent)}`);
  }

  const fields = [...root.querySelectorAll(FIELDS)].filter((one) => isShown(one) && !isDisabled(one));
  const buttons = [...root.querySelectorAll('button, [role=menuitem], [role=tab], a[href]')].filter(
    (one) => isShown(one) && !isDisabled(one) && one.innerText.trim() !== '',
  );
  return {
    overflow: document.scrollingElement.scrollWidth - innerWidth,
    cut,
    edges: fields.map((field) => {
      const { borderBottomColor, borderBottomWidth, backgroundColor } = getComputedStyle(field);
      const colors = [...(borderBottomWidth === '0px' ? [] : [borderBottomColor]), backgroundColor];
      return {
        name: name(field.closest('label') ?? field),
        colors,
        behind: backgrounds(field.parentElement),
      };
    }),
    texts: buttons.map((button) => ({
      name: name(button),
      colors: [getComputedStyle(button).color],
      behind: backgrounds(button),
    })),
  };
};
