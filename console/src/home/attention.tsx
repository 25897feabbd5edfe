import { List, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { nameOf } from '../people/name-of.ts';

/** The days after which `attention.get` counts people as idle and apps as unused. */
const IDLE_DAYS = 90;
const UNUSED_DAYS = 30;

/** What superusers, staff and client admins should look at: a card for each kind of which there is something. */
export const AttentionCards = () => {
  const attention = useQuery(trpc.attention.get.queryOptions());
  if (attention.isPending) return <Skeleton height={140} />;
  if (!attention.data) return <ProblemAlert error={attention.error} />;
  const {
    failed_mails,
    expiring_invitations,
    unused_apps,
    apps_in_maintenance,
    idle_users,
    expired_passwords,
  } = attention.data;
  const cards = [
    <Topic key="mails" count={failed_mails.count} title="Failed mails">
      {failed_mails.items.map(({ id, recipient }) => (
        <Link key={id} className="text-link" to="/mails/$id" params={{ id: String(id) }}>
          {recipient}
        </Link>
      ))}
      <Link className="action-link" to="/mails" search={{ status: 'failed' }}>
        All failed mails
      </Link>
    </Topic>,
    <Topic
      key="invitations"
      count={expiring_invitations.count}
      title="Invitations that expire within three days"
    >
      {expiring_invitations.items.map(({ id, email }) => (
        <Link key={id} className="text-link" to="/invitations" search={{ search: email, status: 'pending' }}>
          {email}
        </Link>
      ))}
      <Link className="action-link" to="/invitations" search={{ status: 'pending' }}>
        All pending invitations
      </Link>
    </Topic>,
    <Topic key="unused" count={unused_apps.count} title={`Apps not used for ${UNUSED_DAYS} days`}>
      {unused_apps.items.map(appLink)}
      <Link className="action-link" to="/idle" search={{ kind: 'apps', days: UNUSED_DAYS }}>
        All of them
      </Link>
    </Topic>,
    <Topic key="maintenance" count={apps_in_maintenance.count} title="Apps in maintenance">
      {apps_in_maintenance.items.map(appLink)}
      <Link className="action-link" to="/apps" search={{ in_maintenance: true }}>
        All of them
      </Link>
    </Topic>,
    <Topic key="idle" count={idle_users.count} title={`People without a login for ${IDLE_DAYS} days`}>
      {idle_users.items.map(personLink)}
      <Link className="action-link" to="/people" search={{ is_active: true, idle_days: IDLE_DAYS }}>
        All of them
      </Link>
    </Topic>,
    <Topic key="passwords" count={expired_passwords.count} title="People with an expired password">
      {expired_passwords.items.map(personLink)}
      <Link className="action-link" to="/people" search={{ password_expired: true }}>
        All of them
      </Link>
    </Topic>,
  ].filter(({ props }) => props.count > 0);
  return cards.length === 0 ? (
    <EmptyState title="Nothing has failed, expired or gone unused">
      Failed mails and the like appear here.
    </EmptyState>
  ) : (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>{cards}</SimpleGrid>
  );
};

type TopicProps = { count: number; title: string; children: ReactNode[] };

const Topic = ({ count, title, children }: TopicProps) => (
  <section className="card" aria-label={title}>
    <Title order={3} size="h2">
      {count.toLocaleString()}
    </Title>
    <Text mb="xs">{title}</Text>
    <List listStyleType="none" size="sm">
      {children.flat().map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the items are replaced together
        <List.Item key={index}>{item}</List.Item>
      ))}
    </List>
  </section>
);

const appLink = ({ id, label }: { id: string; label: string }) => (
  <Link key={id} className="text-link" to="/apps/$id" params={{ id }}>
    {label}
  </Link>
);

const personLink = (person: { email: string; first_name: string; last_name: string }) => (
  <Link key={person.email} className="text-link" to="/people/$email" params={{ email: person.email }}>
    {nameOf(person)}
  </Link>
);
