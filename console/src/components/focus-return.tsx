import { useEffect, useState } from 'react';

/** Where the focus goes when the last opened dialog closes, best first. */
let places: readonly HTMLElement[] = [];

const withParents = (element: HTMLElement | null): HTMLElement[] =>
  element ? [element, ...withParents(element.parentElement)] : [];

/** The element that opened the dialog, and elements around it. For an item of a menu, which closes, the button of the menu. */
const findPlaces = (): readonly HTMLElement[] => {
  const { activeElement: opener, body } = document;
  if (!(opener instanceof HTMLElement) || opener === body) return [];
  const button = opener.closest('[role="menu"]')?.getAttribute('aria-labelledby');
  const found = withParents((button && document.getElementById(button)) || opener);
  // A dialog that is opened from another one may replace it.
  return opener.closest('[role="dialog"]') ? [...found.slice(0, 1), ...places] : found;
};

const focus = (element: HTMLElement | null): boolean => {
  element?.focus({ preventScroll: true });
  return element !== null && document.activeElement === element;
};

const focusHeading = (around: HTMLElement): boolean => {
  const heading = around.querySelector<HTMLElement>('h1, h2, h3');
  if (heading) heading.tabIndex = -1;
  return focus(heading);
};

/** Focuses the first element that still exists, or the nearest heading. */
const focusFirst = (candidates: readonly HTMLElement[]): void => {
  candidates.find((place) => place.isConnected && (focus(place) || focusHeading(place)));
};

/** Whether the focus is in the closed dialog, or nowhere. */
const isFocusLost = (before: Element | null): boolean =>
  document.activeElement === document.body || document.activeElement === before;

/** Part of an open dialog: returns the focus when the dialog closes or is removed. */
export const FocusReturn = () => {
  const [candidates] = useState(findPlaces);
  useEffect(() => {
    places = candidates;
    return () => {
      const before = document.activeElement;
      // Delayed: the action that closes the dialog may move the focus itself.
      setTimeout(() => isFocusLost(before) && focusFirst(candidates));
    };
  }, [candidates]);
  return null;
};

/** Keeps the focus near `around` after the focused element was removed. */
export const focusNear = (around: HTMLElement | null): void => focusFirst(withParents(around));
