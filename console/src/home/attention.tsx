import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import {
  type Icon,
  IconAppWindow,
  IconClockExclamation,
  IconKey,
  IconMailX,
  IconMoon,
  IconSparkles,
  IconTool,
  IconUsersMinus,
} from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createLink, Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { PersonLink } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { notify } from '../components/toasts.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { UNUSED_DAYS, unusedApps, unusedPeople } from '../views/views.ts';
import classes from './home.module.css';

type Attention = Outputs['attention']['get'];

/** Items of a client, or of all, that superusers, staff and client admins should look at: one line per kind that has any. */
export const AttentionList = ({ client }: { client: number | undefined }) => {
  const attention = useQuery(trpc.attention.get.queryOptions({ client }));
  if (attention.isPending) return <Skeleton height={140} />;
  if (!attention.data) return <ProblemAlert error={attention.error} />;
  const topics = topicsOf(attention.data, client).filter(({ count }) => count > 0);
  if (topics.length === 0) {
    return (
      <Text className={`card ${classes.nothing}`} c="dimmed">
        Nothing has failed, expired or gone unused.
      </Text>
    );
  }
  return (
    <Stack component="ul" m={0} className="card divided triage" gap="xs">
      {topics.map((topic) => (
        <TopicRow key={topic.title} {...topic} />
      ))}
    </Stack>
  );
};

type Topic = {
  count: number;
  /** The counted items: `failed mails`. */
  title: string;
  icon: Icon;
  isUrgent?: boolean;
  names: ReactNode[];
  action: ReactNode;
};

const topicsOf = (attention: Attention, chosen: number | undefined): Topic[] => [
  ...attention.held_directories.map(({ client, client_name, people }) => ({
    count: people,
    title: `${people === 1 ? 'membership' : 'memberships'} that the directory of ${client_name} wants to end`,
    icon: IconUsersMinus,
    isUrgent: true,
    names: [],
    action: (
      <ReviewLink
        to="/clients/$id"
        params={{ id: String(client) }}
        search={{ tab: 'directory' }}
        aria-label={`Review the directory of ${client_name}`}
      >
        Review
      </ReviewLink>
    ),
  })),
  {
    count: attention.failed_mails.count,
    title: wordsOf(attention.failed_mails, 'failed mail'),
    icon: IconMailX,
    isUrgent: true,
    names: attention.failed_mails.items.map(({ id, recipient }) => (
      <Link key={id} className="text-link" to="/mails/$id" params={{ id: String(id) }}>
        {recipient}
      </Link>
    )),
    action: (
      <ReviewLink to="/mails" search={{ client: chosen, status: 'failed' }} aria-label="Review failed mails">
        Review
      </ReviewLink>
    ),
  },
  {
    count: attention.expiring_invitations.count,
    title: `${wordsOf(attention.expiring_invitations, 'invitation')} about to expire`,
    icon: IconClockExclamation,
    names: attention.expiring_invitations.items.map(({ id, email }) => (
      <Link key={id} className="text-link" to="/invitations" search={{ search: email, status: 'pending' }}>
        {email}
      </Link>
    )),
    action: <ResendInvitations invitations={attention.expiring_invitations} client={chosen} />,
  },
  {
    count: attention.apps_in_maintenance.count,
    title: `${wordsOf(attention.apps_in_maintenance, 'app')} in maintenance`,
    icon: IconTool,
    names: attention.apps_in_maintenance.items.map(appLink),
    action: (
      <ReviewLink
        to="/apps"
        search={{ client: chosen, in_maintenance: true }}
        aria-label="Review apps in maintenance"
      >
        Review
      </ReviewLink>
    ),
  },
  {
    count: attention.unused_apps.count,
    title: `${wordsOf(attention.unused_apps, 'app')} not used for ${UNUSED_DAYS.apps} days`,
    icon: IconAppWindow,
    names: attention.unused_apps.items.map(appLink),
    action: (
      <ReviewLink to="/apps" search={{ client: chosen, ...unusedApps() }} aria-label="Review unused apps">
        Review
      </ReviewLink>
    ),
  },
  {
    count: attention.new_apps.count,
    title: `${wordsOf(attention.new_apps, 'new app')} without use yet`,
    icon: IconSparkles,
    names: attention.new_apps.items.map(appLink),
    action: (
      <ReviewLink
        to="/apps"
        search={{ client: chosen, never_used: true }}
        aria-label="Review new apps without use"
      >
        Review
      </ReviewLink>
    ),
  },
  {
    count: attention.idle_users.count,
    title: `${wordsOf(attention.idle_users, 'person', 'people')} not seen for ${UNUSED_DAYS.people} days`,
    icon: IconMoon,
    names: attention.idle_users.items.map((person) => <PersonLink key={person.email} person={person} />),
    action: (
      <ReviewLink
        to="/people"
        search={{ client: chosen, ...unusedPeople() }}
        aria-label="Review people not seen"
      >
        Review
      </ReviewLink>
    ),
  },
  {
    count: attention.expired_passwords.count,
    title: `${wordsOf(attention.expired_passwords, 'person', 'people')} with an expired password`,
    icon: IconKey,
    names: attention.expired_passwords.items.map((person) => (
      <PersonLink key={person.email} person={person} />
    )),
    action: (
      <ReviewLink
        to="/people"
        search={{ client: chosen, password_expired: true }}
        aria-label="Review expired passwords"
      >
        Review
      </ReviewLink>
    ),
  },
];

const wordsOf = ({ count }: { count: number }, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;

const ReviewLink = createLink((props: { children: ReactNode; 'aria-label': string; href?: string }) => (
  <Button component="a" variant="default" size="compact-sm" {...props} />
));

/** One line, which is clipped if the window is too narrow for all names. */
const TopicRow = ({ count, title, icon: TopicIcon, isUrgent = false, names, action }: Topic) => (
  <Group component="li" gap="sm" wrap="nowrap">
    <TopicIcon
      size={18}
      stroke={1.75}
      aria-hidden
      color={`var(--mantine-color-${isUrgent ? 'red' : 'orange'}-6)`}
    />
    <div className="triage-text">
      <Text component="span" fw={600}>
        {title}
      </Text>
      <Text component="span" size="sm" c="dimmed" className="triage-names">
        {names.map((name, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the names are replaced together
          <Fragment key={index}>
            {index > 0 && ', '}
            {name}
          </Fragment>
        ))}
        {count > names.length && ` and ${(count - names.length).toLocaleString()} more`}
      </Text>
    </div>
    {action}
  </Group>
);

type ResendProps = { invitations: Attention['expiring_invitations']; client: number | undefined };

/** Resends all of them with one click. If there are more than shown, links to the list. */
const ResendInvitations = ({ invitations, client }: ResendProps) => {
  const { roles, sends_mail } = useSession();
  const queryClient = useQueryClient();
  const { items, count } = invitations;
  const resend = useMutation({
    mutationFn: () =>
      steward.api.invitations.bulkUpdate.mutate(
        { ids: items.map(({ id }) => id), action: 'resend' },
        { context: { idempotencyKey: newIdempotencyKey() } },
      ),
    onSuccess: async ({ results }) => {
      const failed = results.find(({ status }) => status === 'failed');
      const sent = results.filter(({ status }) => status !== 'failed').length;
      await queryClient.invalidateQueries();
      const done = sends_mail ? 'sent again.' : 'queued again. Mails wait until a mail server is set up.';
      notify([`${sent} of ${results.length} ${done}`, failed?.problem?.detail].filter(Boolean).join(' '));
    },
    onError: (error) => notify(messageOf(error), { isFailure: true }),
  });
  return count > items.length || !mayDo(roles, 'manage-people') ? (
    <ReviewLink
      to="/invitations"
      search={{ client, status: 'pending' }}
      aria-label="Review pending invitations"
    >
      Review
    </ReviewLink>
  ) : (
    <Button
      variant="default"
      size="compact-sm"
      loading={resend.isPending}
      aria-label="Send again: expiring invitations"
      onClick={() => resend.mutate()}
    >
      Send again
    </Button>
  );
};

const appLink = ({ id, label }: { id: string; label: string }) => (
  <Link key={id} className="text-link" to="/apps/$id" params={{ id }}>
    {label}
  </Link>
);
