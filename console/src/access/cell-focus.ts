import { type FocusEvent, type KeyboardEvent, useRef, useState } from 'react';

/** In place of a person or an app: the control that sets a whole column or row. */
export const ALL = 'all';

/** The person and the app of a cell, rather than its position, which changes when rows are added. */
export const cellId = (email: string, appId: string): string => `${email} ${appId}`;

/** The cells in the direction of a key, nearest first, of the row and the column of a cell. */
const PATHS: Record<string, (rows: Line, columns: Line) => [email: string, appId: string][]> = {
  ArrowUp: (rows, columns) => rows.before.map((email) => [email, columns.current]),
  ArrowDown: (rows, columns) => rows.after.map((email) => [email, columns.current]),
  ArrowLeft: (rows, columns) => columns.before.map((appId) => [rows.current, appId]),
  ArrowRight: (rows, columns) => columns.after.map((appId) => [rows.current, appId]),
  Home: (rows, columns) => columns.before.toReversed().map((appId) => [rows.current, appId]),
  End: (rows, columns) => columns.after.toReversed().map((appId) => [rows.current, appId]),
};

type Line = { current: string; before: string[]; after: string[] };

const lineOf = (ids: readonly string[], current: string): Line => {
  const all = [ALL, ...ids];
  const index = all.indexOf(current);
  return { current, before: all.slice(0, Math.max(index, 0)).toReversed(), after: all.slice(index + 1) };
};

export type CellFocus = ReturnType<typeof useCellFocus>;

/**
 * One cell of the matrix is a stop of Tab; arrow keys, Home and End lead to the others. `back` returns to it when a button that had
 * the focus disappears.
 */
export const useCellFocus = () => {
  const matrix = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const elementOf = (id: string) =>
    matrix.current?.querySelector<HTMLInputElement | HTMLButtonElement>(`[data-cell="${CSS.escape(id)}"]`);
  return {
    matrix,
    active,
    back: (): void => {
      if (active !== null) elementOf(active)?.focus();
    },
    onFocus: ({ target }: FocusEvent<HTMLElement>): void => {
      const { cell } = target.dataset;
      if (cell !== undefined) setActive(cell);
    },
    onKeyDown: (event: KeyboardEvent, emails: readonly string[], appIds: readonly string[]): void => {
      const { cell } = event.target instanceof HTMLElement ? event.target.dataset : {};
      const pathOf = PATHS[event.key];
      if (!pathOf || cell === undefined) return;
      event.preventDefault();
      const [email = '', appId = ''] = cell.split(' ');
      const path = pathOf(lineOf(emails, email), lineOf(appIds, appId));
      const next = path.map((to) => elementOf(cellId(...to))).find((element) => element && !element.disabled);
      next?.focus();
    },
  };
};
