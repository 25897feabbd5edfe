import { Button, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Outputs } from '../api.ts';
import { DateText } from './date-text.tsx';
import { PagedTable, type Pages } from './paged-table.tsx';
import type { Column } from './virtual-table.tsx';

export type Token = Outputs['tokens']['list'][number];

type Props = { pages: Pages<Token>; onRevoke: (token: Token) => void; empty: ReactNode };

/** API tokens: named ones, for scripts, and those that logins created. */
export const TokenTable = ({ pages, onRevoke, empty }: Props) => (
  <PagedTable
    label="API tokens"
    columns={columnsOf(onRevoke)}
    pages={pages}
    keyOf={({ id }) => id}
    empty={empty}
  />
);

const LimitsOf = ({ scopes, networks, expires_at: end }: Token) => {
  const parts = [scopes?.join(', '), networks && `from ${networks.join(', ')}`].filter(Boolean).join(' · ');
  if (parts === '' && !end) return '–';
  return (
    <>
      {parts}
      {end && (
        <>
          {parts !== '' && ' · '}ends <DateText date={end} />
        </>
      )}
    </>
  );
};

export const labelOf = ({ name }: Token): string => name || 'a token of a login';

const columnsOf = (revoke: (token: Token) => void): Column<Token>[] => [
  {
    heading: 'Name',
    width: '2fr',
    cell: ({ name }) =>
      name || (
        <Text span size="sm" c="dimmed">
          From a login
        </Text>
      ),
  },
  { heading: 'Limits', width: '2fr', cell: (token) => <LimitsOf {...token} /> },
  { heading: 'Created', width: '1fr', cell: ({ created_at: date }) => <DateText date={date} /> },
  { heading: 'Last used', width: '1fr', cell: ({ last_used: date }) => <DateText date={date} /> },
  { heading: 'IP address', width: '1fr', cell: ({ last_address: address }) => address || '–' },
  {
    id: 'revoke',
    heading: <span className="visually-hidden">Revoke</span>,
    width: '6rem',
    onPhone: 'corner',
    cell: (token) => (
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => revoke(token)}
        aria-label={`Revoke ${labelOf(token)}`}
      >
        Revoke
      </Button>
    ),
  },
];
