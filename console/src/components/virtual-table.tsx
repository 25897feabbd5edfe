// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of table elements that are displayed as grids
import { UnstyledButton } from '@mantine/core';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type FocusEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { type Column, keyOfColumn, type Order, titleOf } from './column.ts';
import { type Card, useCard } from './row-card.tsx';
import classes from './virtual-table.module.css';

export const ROW_HEIGHT = 38;
/** The height of the border, and of the heading where it is shown. */
const BORDER_HEIGHT = 2;
const HEADING_HEIGHT = 36;
/** How many rows before the end of the table the next page is requested. */
const AHEAD = 30;

type Props<Row, Sort extends string> = {
  label: string;
  columns: readonly Column<Row, Sort>[];
  sort?: Order<Sort> | undefined;
  onSort?: ((sort: Order<Sort>) => void) | undefined;
  rows: readonly Row[];
  /** The number of all rows, including those that are not loaded. Default: the number of `rows`, unless there are more. */
  total?: number | 'unknown';
  /** For rows with input fields. */
  rowHeight?: number;
  /** For headings of more than two lines. */
  headingHeight?: number;
  /** Default: made from the columns. `none`: the table is scrolled sideways on phones, too. */
  card?: Card<Row> | 'none' | undefined;
  keyOf: (row: Row) => string | number;
  /** Selected rows have another background. Also leaves room below the table for the bar with their actions. */
  isSelected?: ((row: Row) => boolean) | undefined;
  /** Whether another page can be requested now. */
  hasMore: boolean;
  onMore: () => void;
};

/**
 * A table that renders only visible rows, and requests the next page before the reader reaches the end. Its rows are grids with explicit
 * roles, because browsers drop the roles of table elements with another `display`.
 */
export const VirtualTable = <Row, Sort extends string = never>(props: Props<Row, Sort>) => {
  const { label, rows, keyOf, hasMore, onMore, isSelected } = props;
  const { total = hasMore ? 'unknown' : rows.length } = props;
  const card = useCard(props.columns, props.card, props.rowHeight !== undefined);
  const columns = card
    ? [{ id: 'card', heading: card.heading ?? label, width: '1fr', cell: card.content }]
    : props.columns;
  // Input fields cannot be the name of a row.
  const title = card || props.rowHeight !== undefined ? undefined : titleOf(columns);
  const rowHeight = card?.height ?? props.rowHeight ?? ROW_HEIGHT;
  const scroller = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<string | number | null>(null);
  // The row with the focus stays while it is scrolled out of sight: without its element, the focus would be lost.
  const kept = focused === null ? -1 : rows.findIndex((row) => keyOf(row) === focused);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 3,
    rangeExtractor: (range) => withIndex(range, kept),
  });
  useEdges(scroller);
  const keepFocused = ({ target }: FocusEvent<HTMLElement>): void => {
    const row = rows[Number(target.closest<HTMLElement>('[data-index]')?.dataset.index)];
    if (row !== undefined) setFocused(keyOf(row));
  };
  // It keeps the heights of rows, which change when a phone is turned, or when cards get another line.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is what was measured
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const items = virtualizer.getVirtualItems();
  const last = virtualizer.range?.endIndex ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - AHEAD) onMore();
  }, [hasMore, last, rows.length, onMore]);

  const { gridTemplateColumns, minWidth } = gridOf(columns);
  const hasHeading = !card || card.heading !== undefined;
  const { headingHeight = HEADING_HEIGHT } = props;
  const height = virtualizer.getTotalSize() + BORDER_HEIGHT + (hasHeading ? headingHeight : 0);
  return (
    <section
      ref={scroller}
      className={classes.scroller}
      aria-label={`${label}, scrollable`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      onFocus={keepFocused}
      style={{
        // In a low window, the page scrolls too.
        minHeight: `min(20rem, ${height}px)`,
        // What gets the focus is not below the heading, nor below columns that stay in view.
        scrollPaddingTop: hasHeading ? headingHeight : 0,
        scrollPaddingLeft: columns.find(({ sticky }) => sticky === 'start')?.width,
        scrollPaddingRight: columns.find(({ sticky }) => sticky === 'end')?.width,
      }}
      data-selectable={isSelected !== undefined || undefined}
    >
      <table
        role="table"
        aria-label={label}
        aria-rowcount={total === 'unknown' ? -1 : total + 1}
        className={classes.table}
        style={{ minWidth }}
      >
        <thead role="rowgroup" className={classes.head} data-unseen={!hasHeading || undefined}>
          <tr role="row" className={classes.row} style={{ gridTemplateColumns, height: headingHeight }}>
            {columns.map((column) => (
              <Heading key={keyOfColumn(column)} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" className={classes.body} style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            // Cards without some of the lines are lower than the others.
            const height = card?.isMeasured ? undefined : rowHeight;
            const measure = card?.isMeasured ? virtualizer.measureElement : undefined;
            const position = { gridTemplateColumns, height, top: start };
            const isMarked = isSelected?.(row) ?? false;
            return (
              <TableRow
                key={keyOf(row)}
                {...{ row, index, columns, title, isMarked, measure }}
                {...position}
              />
            );
          })}
        </tbody>
      </table>
    </section>
  );
};

/** The indexes of visible rows, and this one, unless it is -1. */
const withIndex = (range: Range, index: number): number[] => {
  const visible = defaultRangeExtractor(range);
  if (index < 0 || visible.includes(index)) return visible;
  return [...visible, index].toSorted((one, other) => one - other);
};

/** Marks the edges behind which columns or rows continue: they fade. */
const useEdges = (scroller: RefObject<HTMLElement | null>): void => {
  useEffect(() => {
    const { current: element } = scroller;
    const table = element?.firstElementChild;
    if (!element || !table) return;
    const mark = (): void => {
      const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = element;
      element.toggleAttribute('data-more-right', scrollWidth - clientWidth - scrollLeft > 1);
      element.toggleAttribute('data-more-below', scrollHeight - clientHeight - scrollTop > 1);
    };
    // Also when columns and rows are added.
    const sizes = new ResizeObserver(mark);
    sizes.observe(element);
    sizes.observe(table);
    element.addEventListener('scroll', mark, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', mark);
    };
  }, [scroller]);
};

/** The tracks of the columns, and the width at which addresses and names are still readable: narrower screens scroll the table. */
export const gridOf = (columns: readonly { width: string }[]) => ({
  gridTemplateColumns: columns.map(({ width }) => width).join(' '),
  minWidth: `${columns.length === 1 ? 0 : minRemOf(columns.map(({ width }) => width))}rem`,
});

const minRemOf = (widths: readonly string[]): number => {
  const columns = widths.map((width) => {
    const [number = 0] = /[\d.]+/.exec(width)?.map(Number) ?? [];
    return width.endsWith('fr') && !width.startsWith('minmax') ? Math.min(4 + 2 * number, 9) : number;
  });
  // A gap after each column, and the padding of the row.
  return columns.reduce((sum, column) => sum + column + 1, 1);
};

type RowColumn<Row> = Pick<Column<Row>, 'heading' | 'id' | 'cell' | 'sticky' | 'isNumber'>;

type RowProps<Row> = {
  row: Row;
  index: number;
  columns: readonly RowColumn<Row>[];
  /** The column with the row's name for screen readers. */
  title: RowColumn<Row> | undefined;
  isMarked: boolean;
  gridTemplateColumns: string;
  /** Undefined if the height depends on the content. */
  height: number | undefined;
  /** Measures a row without a fixed height. */
  measure: ((row: HTMLElement | null) => void) | undefined;
  top: number;
};

/** Memoized: a row is not rendered again while the rows of a new filter are loading. */
const TableRow = memo(<Row,>({ row, index, columns, title, isMarked, measure, ...style }: RowProps<Row>) => (
  <tr
    role="row"
    ref={measure}
    data-index={index}
    aria-rowindex={index + 2}
    className={classes.row}
    style={style}
    data-selected={isMarked || undefined}
  >
    {columns.map((column) => (
      <td
        key={keyOfColumn(column)}
        role={column === title ? 'rowheader' : 'cell'}
        data-sticky={column.sticky}
        data-number={column.isNumber}
      >
        {column.cell(row)}
      </td>
    ))}
  </tr>
)) as <Row>(props: RowProps<Row>) => ReactNode;

type HeadingProps<Row, Sort extends string> = Pick<Props<Row, Sort>, 'sort' | 'onSort'> & {
  column: Column<Row, Sort>;
};

const Heading = <Row, Sort extends string>({ column, sort, onSort }: HeadingProps<Row, Sort>) => {
  const { heading, sort: key, sticky, isNumber } = column;
  if (key === undefined || !onSort) {
    return (
      <th role="columnheader" scope="col" data-sticky={sticky} data-number={isNumber}>
        {heading}
      </th>
    );
  }
  const isDescending = sort === `-${key}`;
  const direction = isDescending ? 'descending' : 'ascending';
  const isSorted = sort === key || isDescending;
  return (
    <th
      role="columnheader"
      scope="col"
      data-sticky={sticky}
      data-number={isNumber}
      aria-sort={isSorted ? direction : 'none'}
    >
      <UnstyledButton fz="inherit" fw="inherit" onClick={() => onSort(sort === key ? `-${key}` : key)}>
        {heading}
        <span aria-hidden> {isSorted ? (isDescending ? '↓' : '↑') : '↕'}</span>
      </UnstyledButton>
    </th>
  );
};
