import { Button } from '@mantine/core';
import { DateText } from '../components/date-text.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { ViewState } from './view-badge.tsx';
import { type AccessView, usesOf } from './view-state.ts';

export const viewColumns = (onShow: (id: number) => void): Column<AccessView>[] => [
  { heading: 'For', width: '2fr', cell: ({ user }) => user ?? 'Anyone with the link' },
  { heading: 'State', width: '9.5rem', onPhone: 'half', cell: (view) => <ViewState view={view} /> },
  { heading: 'Uses', width: '6rem', onPhone: 'half', cell: usesOf },
  {
    heading: 'Expires',
    width: '1fr',
    cell: ({ expires_at: date }) => (date ? <DateText date={date} /> : 'Never'),
  },
  { heading: 'Created', width: '1fr', cell: ({ created: date }) => <DateText date={date} /> },
  {
    heading: 'Link and uses',
    width: '7rem',
    onPhone: 'corner',
    cell: ({ id, user }) => (
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => onShow(id)}
        aria-label={`Show the view for ${user ?? 'anyone'}`}
      >
        Show
      </Button>
    ),
  },
];
