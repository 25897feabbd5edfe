import type { KeyboardEvent } from 'react';

const STEPS: Record<string, [rows: number, columns: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Moves the focus from the cell of the event to the next one that is enabled. Cells have `data-cell="row column"`. */
export const moveFocus = (event: KeyboardEvent): void => {
  const step = STEPS[event.key];
  const cell = event.target instanceof HTMLElement ? event.target.dataset.cell : undefined;
  if (!step || cell === undefined) return;
  event.preventDefault();
  let [row = 0, column = 0] = cell.split(' ').map(Number);
  let next: HTMLInputElement | null;
  do {
    row += step[0];
    column += step[1];
    next = event.currentTarget.querySelector<HTMLInputElement>(`[data-cell="${row} ${column}"]`);
  } while (next?.disabled);
  next?.focus();
};
