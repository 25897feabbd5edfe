import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useMemo } from 'react';
import classes from './row-card.module.css';
import { type Column, keyOfColumn } from './virtual-table.tsx';

/** What a row is on a phone, instead of its columns. */
export type Card<Row> = {
  /** Of all cards; of measured ones what they probably have. */
  height: number;
  /** Whether a card is as high as its content. */
  isMeasured?: boolean;
  /** Above the cards, such as a box that selects all. */
  heading?: ReactNode;
  content: (row: Row) => ReactNode;
};

/** As `sm` of Mantine, where the navigation gives way. */
const PHONE = '(max-width: 37.4375em)';

/** Whether the window is as narrow as that of a phone. */
export const useIsPhone = (): boolean =>
  useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

const PADDING_PX = 14;
/** The title, and each other line. */
const HEIGHTS = { top: 32, line: 22 };
/** With fields to fill in. */
const FIELD_HEIGHTS = { top: 46, line: 46 };

/**
 * On phones the card of the rows of a table: its own, or one that is made of its columns.
 * @param hasFields whether the cells are fields to fill in
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

/** The column that names the row. */
export const titleOf = <C extends Pick<Column<unknown, string>, 'id' | 'onPhone'>>(
  columns: readonly C[],
): C | undefined =>
  columns.find(({ onPhone }) => onPhone === 'title') ?? columns.find(({ id }) => id !== 'select');

/** The title with what stands beside it, and below it a line for each other column. */
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
          <div className={classes.top} style={{ height: top }}>
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
