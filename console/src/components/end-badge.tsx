import { Badge } from '@mantine/core';
import { dateOf } from './date-text.tsx';

const SOON_MS = 14 * 86_400_000;

/** `Ends 8 Dec 2026`, in amber within the last two weeks. Renders nothing without an end. */
export const EndBadge = ({ date }: { date: Date | null | undefined }) =>
  date ? (
    <Badge
      variant="light"
      color={isSoon(date) ? 'yellow' : 'gray'}
      tt="none"
      flex="none"
      miw="max-content"
      title={date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })}
    >
      Ends {dateOf(date)}
    </Badge>
  ) : null;

const isSoon = (date: Date): boolean => date.getTime() - Date.now() < SOON_MS;
