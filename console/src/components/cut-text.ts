import type { PointerEvent } from 'react';

const isCut = (element: HTMLElement): boolean =>
  element.scrollWidth > element.clientWidth && getComputedStyle(element).textOverflow === 'ellipsis';

/** Shows the whole text below the pointer as a title if it ends in an ellipsis. */
export const titleCutText = ({ target }: PointerEvent): void => {
  for (
    let element = target as Element | null;
    element instanceof HTMLElement;
    element = element.parentElement
  ) {
    if (element.title !== '') return;
    if (!isCut(element)) continue;
    const cut = element;
    cut.title = cut.innerText;
    cut.addEventListener('pointerleave', () => cut.removeAttribute('title'), { once: true });
    return;
  }
};
