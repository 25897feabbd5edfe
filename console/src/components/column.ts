import type { ReactNode } from 'react';

/** A key to sort by; a leading `-` means descending order. */
export type Order<Sort extends string> = Sort | `-${Sort}`;

/** A column of a table. */
export type Column<Row, Sort extends string = never> = {
  /** A control needs an `id`. */
  heading: ReactNode;
  id?: string;
  /** The key that sorts by this column. */
  sort?: Sort;
  /** Stays in view while the table is scrolled sideways. */
  sticky?: 'start' | 'end';
  /** A track of a CSS grid, such as `minmax(8rem, 1fr)`. */
  width: string;
  /** Aligned to the right. */
  isNumber?: boolean;
  cell: (row: Row) => ReactNode;
  /**
   * The place in a card on phones: the title (by default the first column), next to the title, half a line, or a line without the heading.
   * Default: a line with the heading.
   */
  onPhone?: 'title' | 'corner' | 'half' | 'plain' | 'plain-half';
};

export const keyOfColumn = ({ id, heading }: { id?: string; heading: ReactNode }): string =>
  id ?? String(heading);

/** The column that names the row. */
export const titleOf = <C extends Pick<Column<unknown, string>, 'id' | 'onPhone'>>(
  columns: readonly C[],
): C | undefined =>
  columns.find(({ onPhone }) => onPhone === 'title') ?? columns.find(({ id }) => id !== 'select');
