import { Alert, Button, Menu, Stack, Text, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { type Fact, FactList } from '../components/fact-list.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { ScreenTabs } from '../components/screen-tabs.tsx';
import { notify } from '../components/toasts.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { MailFrame } from './mail-frame.tsx';
import { mailMessage } from './mail-message.ts';
import { MailNotice } from './mail-notice.tsx';
import { wordsOf } from './mail-reason.tsx';
import classes from './mail-screen.module.css';
import { MailStatus } from './mail-status.tsx';

type Mail = Outputs['mail']['get'];

const route = getRouteApi('/mails/$id');

export const MailScreen = () => {
  const id = Number(route.useParams().id);
  const navigate = useNavigate();
  // Not refetched in the background: reading a mail whose link is shown is audited.
  const {
    data: mail,
    isFetching,
    refetch,
  } = useSuspenseQuery(
    trpc.mail.get.queryOptions({ id }, { refetchOnWindowFocus: false, refetchOnReconnect: false }),
  );
  return (
    <>
      <ScreenHeader
        title={mail.subject}
        lead={`To ${mail.recipient}`}
        menu={
          mayDo(useSession().roles, 'read-audit') && (
            <Menu.Item onClick={() => void navigate({ to: '/audit', search: { target: mail.recipient } })}>
              History of the recipient
            </Menu.Item>
          )
        }
        actions={
          <>
            {mail.status !== 'sent' && (
              <Button variant="default" onClick={() => void refetch()} loading={isFetching}>
                Refresh
              </Button>
            )}
            {mail.can_retry && <RetryButton key={mail.id} mail={mail} />}
          </>
        }
      />
      {mail.next_attempt_at && <MailNotice />}
      <Reason mail={mail} />
      <Facts mail={mail} />
      <Preview mail={mail} />
    </>
  );
};

/** Makes the mail due now. */
const RetryButton = ({ mail }: { mail: Mail }) => {
  const queryClient = useQueryClient();
  const session = useSession();
  const retry = useMutation(
    trpc.mail.retry.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(trpc.mail.get.queryKey({ id: mail.id }), updated);
        void queryClient.invalidateQueries(trpc.mail.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        const sent = 'The service sends the mail in a moment. Refresh to see the result.';
        notify(mailMessage(sent, session));
      },
    }),
  );
  // Why this mail will not be sent any more, for example because its invitation was revoked.
  const refusal = joined(fieldErrors(retry.error)).id;
  return (
    <>
      <Button onClick={() => retry.mutate({ id: mail.id })} loading={retry.isPending}>
        Retry now
      </Button>
      {refusal === undefined ? <ProblemAlert error={retry.error} /> : <Alert color="red">{refusal}</Alert>}
    </>
  );
};

/** The reason in words, and the mail server's text. */
const Reason = ({ mail: { status, last_error: reason } }: { mail: Mail }) => {
  if (reason === null || status === 'sent') return null;
  const words = wordsOf(reason);
  const what = status === 'failed' ? 'This mail was not sent' : 'The last attempt failed';
  return (
    <Alert
      mb="md"
      variant="light"
      color={status === 'failed' ? 'red' : 'orange'}
      title={words === reason ? what : `${what}: ${words}`}
    >
      {reason}
    </Alert>
  );
};

const Facts = ({ mail }: { mail: Mail }) => {
  const nameOfClient = useClientName();
  const facts: (Fact | null)[] = [
    ['Status', <MailStatus key="status" status={mail.status} />],
    ['From', `${mail.from.name} <${mail.from.address}>`],
    ['Client', nameOfClient(mail.client) || 'None'],
    ['Attempts', mail.attempts],
    ['Created', <DateText key="created" date={mail.created_at} />],
    mail.sent_at && ['Sent', <DateText key="sent" date={mail.sent_at} />],
    mail.failed_at && ['Failed', <DateText key="failed" date={mail.failed_at} />],
    mail.next_attempt_at && ['Next attempt', nextAttempt(mail.next_attempt_at)],
  ];
  return <FactList facts={facts.filter((fact) => fact !== null)} mb="md" />;
};

/** Due mails wait for a worker. */
const nextAttempt = (date: Date) => (date > new Date() ? <DateText key="next" date={date} /> : 'Due now');

/** The mail as it was sent, or as it would be sent. */
const Preview = ({ mail }: { mail: Mail }) => (
  <Stack className="card">
    <Title order={2} size="h3">
      {mail.is_as_sent ? 'As it was sent' : 'Preview'}
    </Title>
    {mail.status === 'sent' && !mail.is_as_sent && (
      <Text size="sm" c="dimmed">
        The texts with which this mail was sent were not kept. The preview shows the present texts.
      </Text>
    )}
    <Parts mail={mail} />
  </Stack>
);

const Parts = ({ mail }: { mail: Mail }) => {
  const [part, setPart] = useState<'html' | 'text'>('html');
  const text = (
    <Text component="pre" className={classes.text}>
      {mail.text}
    </Text>
  );
  return (
    <ScreenTabs
      label="Parts of the mail"
      value={part}
      tabs={[
        { value: 'html', label: 'HTML', panel: <MailFrame title="HTML of the mail" mail={mail} /> },
        { value: 'text', label: 'Text', panel: text },
      ]}
      onShow={setPart}
    />
  );
};
