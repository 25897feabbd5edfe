import { Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from './problem-alert.tsx';
import { type Column, VirtualTable } from './virtual-table.tsx';

/** The result of an infinite query, as far as a table needs it. */
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
  /** Shown if there are no rows. */
  empty: ReactNode;
};

/** A list that is loaded page by page while it is scrolled. */
export const PagedTable = <Row,>({ label, columns, pages, keyOf, empty }: Props<Row>) => {
  const rows = pages.data?.pages.flat() ?? [];
  return (
    <>
      <ProblemAlert error={pages.error} />
      {pages.isPending && <Skeleton height={400} />}
      {pages.isSuccess && rows.length === 0 && empty}
      {rows.length > 0 && (
        <VirtualTable
          label={label}
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          hasMore={pages.hasNextPage && !pages.isFetchingNextPage}
          onMore={() => void pages.fetchNextPage()}
        />
      )}
    </>
  );
};
