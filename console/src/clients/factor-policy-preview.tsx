import { List, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { shortDateOf } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 5;

type Props = { clientId: number; policy: 'required' | 'passkey'; days: number; sendsMails: boolean };

/** The people whom a required second factor concerns, in words. */
export const FactorPolicyPreview = ({ clientId, policy, days, sendsMails }: Props) => {
  const preview = useQuery(
    trpc.clients.previewFactorPolicy.queryOptions({
      id: clientId,
      policy,
      grace_days: days,
      limit: SHOWN,
    }),
  );
  if (preview.isPending) return <Skeleton height={120} />;
  if (!preview.data) return <ProblemAlert error={preview.error} />;
  const { members, with_factor, without_factor, shared, views, required_from, users } = preview.data;
  const others = without_factor - users.length;
  return (
    <Stack gap="sm">
      <Text>
        {with_factor.toLocaleString()} of {countOf(members, 'member', 'members')} already have{' '}
        {policy === 'passkey' ? 'a passkey' : 'a second factor'}.
      </Text>
      <List spacing="xs">
        {without_factor > 0 && (
          <List.Item>
            {countOf(without_factor, 'person has', 'people have')} none
            {shared > 0 && ', as far as you can see,'}
            {required_from && ` and need one from ${shortDateOf(required_from)} on`}:{' '}
            {users.map(({ email }) => email).join(', ')}
            {others > 0 && ` and ${others.toLocaleString()} more`}.
          </List.Item>
        )}
        <List.Item>No one is locked out: people who have none by then set it up on the login page.</List.Item>
        {policy === 'passkey' && (
          <List.Item>
            That needs a browser with JavaScript, and a device, security key or password manager that keeps
            passkeys.
          </List.Item>
        )}
        {shared > 0 && (
          <List.Item>
            {countOf(shared, 'of them belongs', 'of them belong')} to other clients, too, and will be asked at
            every login.
          </List.Item>
        )}
        {views > 0 && (
          <List.Item>
            {countOf(views, 'share link opens', 'share links open')} an app as a person, who has to log in
            first then.
          </List.Item>
        )}
        <List.Item>
          {sendsMails ? 'Those without one get a mail now, and a reminder.' : 'No mails are sent.'} No one is
          logged out. API tokens keep working.
        </List.Item>
      </List>
    </Stack>
  );
};

const countOf = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
