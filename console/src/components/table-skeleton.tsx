import { Skeleton } from '@mantine/core';
import { type Column, keyOfColumn } from './column.ts';
import { type Card, useCard } from './row-card.tsx';
import classes from './virtual-table.module.css';
import { gridOf, ROW_HEIGHT } from './virtual-table.tsx';

type Props<Row> = {
  columns: readonly Column<Row, string>[];
  card?: Card<Row> | undefined;
  rows?: number;
};

/** Placeholders for the rows of a table that is loading, with the height of rows. */
export const TableSkeleton = <Row,>({ columns, card, rows = 10 }: Props<Row>) => {
  const height = useCard(columns, card)?.height;
  const cells = height === undefined ? columns : [{ heading: '', width: '1fr' }];
  const { gridTemplateColumns, minWidth } = gridOf(cells);
  return (
    <div className={classes.scroller} aria-busy>
      <div style={{ minWidth }}>
        {Array.from({ length: rows }, (_, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: they are alike
            key={index}
            className={classes.row}
            style={{ gridTemplateColumns, height: height ?? ROW_HEIGHT }}
          >
            {cells.map((column) => (
              <Skeleton key={keyOfColumn(column)} height={12} width="70%" />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
};
