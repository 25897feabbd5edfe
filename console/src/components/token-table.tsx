import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Outputs } from '../api.ts';
import type { Column } from './column.ts';
import { DateText } from './date-text.tsx';
import { PagedTable, type Pages } from './paged-table.tsx';

export type Token = Outputs['tokens']['list'][number];

type Actions = {
  onRevoke: (token: Token) => void;
  /** Shows what a token was used for. */
  onShowUses?: (token: Token) => void;
};

type Props = Actions & { pages: Pages<Token>; empty: ReactNode };

/** API tokens: named ones, for scripts, and those that logins created. */
export const TokenTable = ({ pages, empty, ...actions }: Props) => (
  <PagedTable
    label="API tokens"
    columns={columnsOf(actions)}
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

const columnsOf = ({ onRevoke, onShowUses }: Actions): Column<Token>[] => [
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
  { heading: 'Created', width: '9rem', cell: ({ created_at: date }) => <DateText date={date} /> },
  { heading: 'Last used', width: '9rem', cell: ({ last_used: date }) => <DateText date={date} /> },
  { heading: 'IP address', width: '1fr', cell: ({ last_address: address }) => address || '–' },
  {
    id: 'actions',
    heading: <span className="visually-hidden">Actions</span>,
    width: onShowUses ? '10rem' : '6rem',
    onPhone: 'corner',
    cell: (token) => (
      <Group gap="xs" wrap="nowrap" justify="flex-end">
        {onShowUses && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => onShowUses(token)}
            aria-label={`Uses of ${labelOf(token)}`}
          >
            Uses
          </Button>
        )}
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => onRevoke(token)}
          aria-label={`Revoke ${labelOf(token)}`}
        >
          Revoke
        </Button>
      </Group>
    ),
  },
];
