import { Button, Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { InvitationStatus } from '../invitations/invitation-status.tsx';
import { MailLink } from '../mails/mail-link.tsx';
import { usePersonMails } from './use-person.ts';

type Entry = Outputs['mail']['timeline'][number];

/** The mails and invitations of a person, newest first. */
export const PersonMails = ({ email }: { email: string }) => {
  const entries = usePersonMails(email);
  const rows = entries.data?.pages.flat() ?? [];
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Mails and invitations
      </Title>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={80} />}
      {entries.isSuccess && rows.length === 0 && <Text c="dimmed">No mail to this address is stored.</Text>}
      <Timeline bulletSize={14}>
        {rows.map((entry) => (
          <Timeline.Item key={entry.id} title={<EntryTitle entry={entry} />}>
            <EntryFacts entry={entry} />
          </Timeline.Item>
        ))}
      </Timeline>
      {entries.hasNextPage && (
        <Group>
          <Button
            variant="default"
            loading={entries.isFetchingNextPage}
            onClick={() => void entries.fetchNextPage()}
          >
            Show older
          </Button>
        </Group>
      )}
    </Stack>
  );
};

const EntryTitle = ({ entry: { mail, invitation } }: { entry: Entry }) => {
  const nameOfClient = useClientName();
  if (mail)
    return (
      <Link className="text-link" to="/mails/$id" params={{ id: String(mail.id) }}>
        {mail.subject}
      </Link>
    );
  return `Invitation to ${nameOfClient(invitation?.client ?? null)}`;
};

const EntryFacts = ({ entry: { mail, invitation, timestamp } }: { entry: Entry }) => (
  <Group gap="xs">
    {mail && <MailLink mail={mail} />}
    {invitation && <InvitationStatus status={invitation.status} />}
    <Text size="sm" c="dimmed">
      {invitation && `by ${invitation.inviter}, `}
      <DateText date={timestamp} />
    </Text>
    {invitation?.mail && (
      <Link className="text-link" to="/mails/$id" params={{ id: String(invitation.mail.id) }}>
        Newest mail
      </Link>
    )}
    {mail?.last_error && mail.status !== 'sent' && (
      <Text size="sm" className="break-words">
        {mail.last_error}
      </Text>
    )}
  </Group>
);
