// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of table elements that are displayed as grids
import { UnstyledButton } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useRef } from 'react';
import classes from './virtual-table.module.css';

const ROW_HEIGHT = 40;
/** Rows before the end of the table at which the next page is requested. */
const AHEAD = 30;

/** A key to sort by; with `-` in front in descending order. */
type Order<Sort extends string> = Sort | `-${Sort}`;

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
  cell: (row: Row) => ReactNode;
};

type Props<Row, Sort extends string> = {
  label: string;
  columns: readonly Column<Row, Sort>[];
  sort?: Order<Sort> | undefined;
  onSort?: ((sort: Order<Sort>) => void) | undefined;
  rows: readonly Row[];
  rowHeight?: number;
  keyOf: (row: Row) => string | number;
  /** Whether another page can be requested now. */
  hasMore: boolean;
  onMore: () => void;
};

/**
 * A table that renders only the rows in view, and requests the next page before the reader reaches the end. Its rows are grids
 * with explicit roles, because browsers drop the roles of table elements that are displayed otherwise.
 */
export const VirtualTable = <Row, Sort extends string = never>(props: Props<Row, Sort>) => {
  const { label, columns, rows, rowHeight = ROW_HEIGHT, keyOf, hasMore, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 5,
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - AHEAD) onMore();
  }, [hasMore, last, rows.length, onMore]);

  const gridTemplateColumns = columns.map(({ width }) => width).join(' ');
  const minWidth = `${minRemOf(columns.map(({ width }) => width))}rem`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section ref={scroller} className={classes.scroller} aria-label={label} tabIndex={0}>
      <table
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        className={classes.table}
        style={{ minWidth }}
      >
        <thead role="rowgroup" className={classes.head}>
          <tr role="row" className={classes.row} style={{ gridTemplateColumns }}>
            {columns.map((column) => (
              <Heading key={keyOfColumn(column)} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" className={classes.body} style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const position = { gridTemplateColumns, height: rowHeight, top: start };
            return <TableRow key={keyOf(row)} row={row} index={index} columns={columns} {...position} />;
          })}
        </tbody>
      </table>
    </section>
  );
};

/** So wide that addresses and names can be recognized: narrower screens scroll the table. */
const minRemOf = (widths: readonly string[]): number => {
  const columns = widths.map((width) => {
    const [number = 0] = /[\d.]+/.exec(width)?.map(Number) ?? [];
    return width.endsWith('fr') && !width.startsWith('minmax') ? Math.min(4 + 2 * number, 9) : number;
  });
  // A gap after each column, and the padding of the row.
  return columns.reduce((sum, column) => sum + column + 1, 1);
};

type RowProps<Row> = {
  row: Row;
  index: number;
  columns: readonly Pick<Column<Row>, 'heading' | 'id' | 'cell' | 'sticky'>[];
  gridTemplateColumns: string;
  height: number;
  top: number;
};

/** Memoized: a row is not rendered again while those of a new filter are loaded. */
const TableRow = memo(<Row,>({ row, index, columns, ...style }: RowProps<Row>) => (
  <tr role="row" aria-rowindex={index + 2} className={classes.row} style={style}>
    {columns.map((column) => (
      <td key={keyOfColumn(column)} role="cell" data-sticky={column.sticky}>
        {column.cell(row)}
      </td>
    ))}
  </tr>
)) as <Row>(props: RowProps<Row>) => ReactNode;

const keyOfColumn = ({ id, heading }: { id?: string; heading: ReactNode }): string => id ?? String(heading);

type HeadingProps<Row, Sort extends string> = Pick<Props<Row, Sort>, 'sort' | 'onSort'> & {
  column: Column<Row, Sort>;
};

const Heading = <Row, Sort extends string>({ column, sort, onSort }: HeadingProps<Row, Sort>) => {
  const { heading, sort: key, sticky } = column;
  if (key === undefined || !onSort) {
    return (
      <th role="columnheader" scope="col" data-sticky={sticky}>
        {heading}
      </th>
    );
  }
  const isDescending = sort === `-${key}`;
  const direction = isDescending ? 'descending' : 'ascending';
  const isSorted = sort === key || isDescending;
  return (
    <th role="columnheader" scope="col" data-sticky={sticky} aria-sort={isSorted ? direction : 'none'}>
      <UnstyledButton fz="inherit" fw="inherit" onClick={() => onSort(sort === key ? `-${key}` : key)}>
        {heading}
        <span aria-hidden> {isSorted ? (isDescending ? '↓' : '↑') : '↕'}</span>
      </UnstyledButton>
    </th>
  );
};
