import { Button, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { shortDateOf } from '../components/date-text.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import type { PersonState } from './person-state.ts';
import { type PersonData, usePersonMails } from './use-person.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** Items that someone should look at. Renders nothing if there are none. */
export const NeedsAttention = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const entries = usePersonMails(data.person.email).data?.pages.flat() ?? [];
  const failed = entries.flatMap(({ mail, invitation }) => mail ?? invitation?.mail ?? []).find(isFailed);
  const notes: ReactNode[] = state === 'active' ? notesOn(data) : [];
  if (failed)
    notes.push(
      <>
        A mail was not delivered{failed.last_error && `: “${failed.last_error}”`}.{' '}
        <Link className="text-link" to="/mails/$id" params={{ id: String(failed.id) }}>
          Open the mail
        </Link>
      </>,
    );
  if (notes.length === 0) return null;
  return (
    <Stack className="card" gap="xs" component="section" aria-labelledby="attention">
      <Title order={2} size="h3" id="attention">
        Needs attention
      </Title>
      {notes.map((note, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: notes have no other identity
        <Text key={index} component="div" size="sm" c="dimmed" className="break-words">
          {note}
        </Text>
      ))}
    </Stack>
  );
};

type FailedMail = { id: number; status: string; last_error: string | null };

const isFailed = ({ status }: FailedMail): boolean => status === 'failed';

const daysLeft = (end: Date): number => Math.ceil((end.getTime() - Date.now()) / DAY_MS);
const inDays = (days: number): string => (days === 1 ? 'in a day' : `in ${days} days`);

type PasswordProps = { email: string; canMail: boolean };

const PasswordNote = ({ email, canMail }: PasswordProps) => {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      Has not set a password yet, and cannot log in.
      {canMail && (
        <Button display="block" mt="xs" variant="default" size="xs" onClick={open}>
          Mail a password link…
        </Button>
      )}
      <PasswordLinkDialog email={email} isOpen={isOpen} onClose={close} />
    </>
  );
};

const notesOn = ({
  person,
  may,
  access: { apps },
  screen: { account, last_use },
}: PersonData): ReactNode[] => {
  const notes: ReactNode[] = [];
  if (account && !account.has_password)
    notes.push(<PasswordNote email={person.email} canMail={may.can_revoke} />);
  const end = account?.password_expires_at;
  if (account?.has_password && end && daysLeft(end) <= SOON_DAYS)
    notes.push(
      daysLeft(end) <= 0
        ? 'The password has expired. The next login asks for a new one.'
        : `The password expires ${inDays(daysLeft(end))}.`,
    );
  for (const { label, grant } of apps)
    if (grant?.expires_at && daysLeft(grant.expires_at) <= SOON_DAYS)
      notes.push(`${label} ends on ${shortDateOf(grant.expires_at)}.`);
  if (account?.has_password && person.last_login === null && last_use === null)
    notes.push('Has never logged in.');
  return notes;
};
