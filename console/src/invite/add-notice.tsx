import { Alert, Button } from '@mantine/core';
import { shortList } from '../components/short-list.ts';
import type { Added } from './invite-rows.ts';

const MAX_SHOWN = 5;

export type Outcome = Pick<Added, 'added' | 'updated' | 'removed' | 'repeated'> & {
  /** Ignored columns of a file. */
  ignored: readonly string[];
};

type Props = { outcome: Outcome; onKeep: () => void; onClose: () => void };

/** The outcome of adding addresses or a file. */
export const AddNotice = ({ outcome, onKeep, onClose }: Props) => (
  <Alert
    role="status"
    mb="md"
    variant="light"
    color={outcome.ignored.length + outcome.repeated.length > 0 ? 'orange' : 'green'}
    withCloseButton
    closeButtonLabel="Close"
    onClose={onClose}
  >
    {sentencesOf(outcome).join(' ')}{' '}
    {outcome.removed.length > 0 && (
      <Button variant="default" size="compact-sm" onClick={onKeep}>
        Keep them
      </Button>
    )}
  </Alert>
);

const sentencesOf = ({ added, updated, removed, repeated, ignored }: Outcome): string[] => [
  updated > 0 ? `${added} added, ${updated} updated.` : `${added} added.`,
  ...(removed.length > 0
    ? [
        `Removed, because the new file does not have them: ${shortList(
          removed.map(({ email }) => email),
          MAX_SHOWN,
        )}.`,
      ]
    : []),
  ...(repeated.length > 0
    ? [`Left out, because they are in the list already: ${shortList(repeated, MAX_SHOWN)}.`]
    : []),
  ...(ignored.length > 0 ? [`These columns are left out: ${ignored.join(', ')}.`] : []),
];
