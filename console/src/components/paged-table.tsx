import type { ReactNode } from 'react';
import type { Column } from './column.ts';
import { ProblemAlert } from './problem-alert.tsx';
import type { Card } from './row-card.tsx';
import { TableSkeleton } from './table-skeleton.tsx';
import { VirtualTable } from './virtual-table.tsx';

/** The parts of an infinite query's result that a table needs. */
export type Pages<Row> = {
  data: { pages: readonly (readonly Row[])[] } | undefined;
  error: unknown;
  isPending: boolean;
  isSuccess: boolean;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
};

type Props<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  pages: Pages<Row>;
  keyOf: (row: Row) => string | number;
  card?: Card<Row>;
  isSelected?: ((row: Row) => boolean) | undefined;
  /** Shown if there are no rows. */
  empty: ReactNode;
};

/** A list that is loaded page by page while it is scrolled. */
export const PagedTable = <Row,>({ pages, empty, ...table }: Props<Row>) => {
  const rows = pages.data?.pages.flat() ?? [];
  return (
    <>
      <ProblemAlert error={pages.error} />
      {pages.isPending && <TableSkeleton columns={table.columns} card={table.card} />}
      {pages.isSuccess && rows.length === 0 && empty}
      {rows.length > 0 && (
        <VirtualTable
          {...table}
          rows={rows}
          total={pages.hasNextPage ? 'unknown' : rows.length}
          hasMore={pages.hasNextPage && !pages.isFetchingNextPage}
          onMore={() => void pages.fetchNextPage()}
        />
      )}
    </>
  );
};
