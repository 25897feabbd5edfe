import { Alert } from '@mantine/core';
import { shortList } from '../components/short-list.ts';
import type { Added } from './invite-rows.ts';

const MAX_SHOWN = 5;

export type Outcome = Pick<Added, 'added' | 'updated' | 'repeated'> & {
  /** Columns of a file that are not read. */
  ignored: readonly string[];
};

/** What became of the addresses or the file that were added last. */
export const AddNotice = ({ outcome, onClose }: { outcome: Outcome; onClose: () => void }) => (
  <Alert
    role="status"
    mb="md"
    variant="light"
    color={outcome.ignored.length + outcome.repeated.length > 0 ? 'orange' : 'green'}
    withCloseButton
    closeButtonLabel="Close"
    onClose={onClose}
  >
    {sentencesOf(outcome).join(' ')}
  </Alert>
);

const sentencesOf = ({ added, updated, repeated, ignored }: Outcome): string[] => [
  updated > 0 ? `${added} added, ${updated} updated.` : `${added} added.`,
  ...(repeated.length > 0
    ? [`Left out, because they are in the list already: ${shortList(repeated, MAX_SHOWN)}.`]
    : []),
  ...(ignored.length > 0 ? [`These columns are left out: ${ignored.join(', ')}.`] : []),
];
