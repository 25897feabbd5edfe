import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useMemo } from 'react';
import { type Column, keyOfColumn, titleOf } from './column.ts';
import classes from './row-card.module.css';

/** How a row is shown on a phone, instead of its columns. */
export type Card<Row> = {
  /** The height of all cards; for measured cards, an estimate. */
  height: number;
  /** Whether a card's height depends on its content. */
  isMeasured?: boolean;
  /** Shown above the cards, such as a box that selects all. */
  heading?: ReactNode;
  content: (row: Row) => ReactNode;
};

/** Mantine's `sm`, below which the navigation is hidden. */
const PHONE = '(max-width: 37.4375em)';

/** Whether the window is as narrow as a phone's. */
export const useIsPhone = (): boolean =>
  useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

const PADDING_PX = 14;
/** The heights of the title and of each other line. */
const HEIGHTS = { top: 32, line: 22 };
/** The same for cards with input fields. */
const FIELD_HEIGHTS = { top: 46, line: 46 };

/**
 * The card of a table's rows on phones: its own, or one that is made from its columns.
 * @param hasFields whether the cells are input fields
 */
export const useCard = <Row,>(
  columns: readonly Column<Row, string>[],
  card: Card<Row> | 'none' | undefined,
  hasFields = false,
): Card<Row> | null => {
  const isPhone = useIsPhone();
  return useMemo(() => {
    if (!isPhone || card === 'none') return null;
    return card ?? cardOf(columns, hasFields ? FIELD_HEIGHTS : HEIGHTS);
  }, [isPhone, card, columns, hasFields]);
};

/** The title and the cells next to it, and below it a line for each other column. */
const cardOf = <Row,>(columns: readonly Column<Row, string>[], { top, line }: typeof HEIGHTS): Card<Row> => {
  const select = columns.find(({ id }) => id === 'select');
  const title = titleOf(columns);
  const others = columns.filter((column) => column !== select && column !== title);
  const corner = others.filter(({ onPhone }) => onPhone === 'corner');
  const lines = others.filter(({ onPhone }) => onPhone !== 'corner');
  const halves = lines.filter(isHalf).length;
  const lineCount = lines.length - halves + Math.ceil(halves / 2);
  return {
    height: PADDING_PX + top + line * lineCount,
    isMeasured: true,
    heading: select && <div className={classes.all}>{select.heading} Select all</div>,
    content: (row) => (
      <div className={classes.card}>
        {select && (
          <div className={classes.select} style={{ height: top }}>
            {select.cell(row)}
          </div>
        )}
        <div className={classes.content}>
          <div className={classes.top} style={{ minHeight: top }}>
            <div className={classes.title}>{title?.cell(row)}</div>
            {corner.map((column) => (
              <div key={keyOfColumn(column)}>{column.cell(row)}</div>
            ))}
          </div>
          <div className={classes.lines}>
            {lines.map((column) => (
              <Line key={keyOfColumn(column)} column={column} row={row} height={line} />
            ))}
          </div>
        </div>
      </div>
    ),
  };
};

const isHalf = ({ onPhone }: { onPhone?: string }): boolean => onPhone === 'half' || onPhone === 'plain-half';

type LineProps<Row> = { column: Column<Row, string>; row: Row; height: number };

const Line = <Row,>({ column, row, height }: LineProps<Row>) => (
  <div className={classes.line} style={{ minHeight: height }} data-half={isHalf(column) || undefined}>
    {!column.onPhone?.startsWith('plain') && <span className={classes.label}>{column.heading} </span>}
    <span className={classes.value}>{column.cell(row)}</span>
  </div>
);
