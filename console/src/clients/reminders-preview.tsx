import { Anchor, Button, List, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { shortDateOf } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { findWrongDays, type RemindersOf } from './use-reminders-form.ts';

type Preview = Outputs['reminders']['preview'];
type Section = Preview['access'];
type Person = Section['people'][number];

const SHOWN = 5;
/** Limit of the service's list. */
const MAX_SHOWN = 1_000;
const TYPING_MS = 200;

type Options = { clientId: number; values: RemindersOf; isShown: boolean };

/** The mails that the settings in the form would send next. */
export const useRemindersPreview = ({ clientId, values, isShown }: Options) => {
  const [isWhole, setWhole] = useState(false);
  const [settled] = useDebouncedValue(values, TYPING_MS);
  const isValid = Object.keys(findWrongDays(settled)).length === 0;
  const preview = useQuery(
    trpc.reminders.preview.queryOptions(
      { id: clientId, ...settled, limit: isWhole ? MAX_SHOWN : SHOWN },
      { enabled: isShown && isValid, placeholderData: keepPreviousData },
    ),
  );
  const showAll = isWhole ? undefined : () => setWhole(true);
  return { preview, settings: settled, isValid, showAll };
};

/** Who gets which mail in the next run, in words. */
export const RemindersPreview = (props: ReturnType<typeof useRemindersPreview>) => {
  const { preview, isValid } = props;
  return (
    <Stack gap="xs" aria-live="polite">
      <Title order={3} size="h4">
        What happens next
      </Title>
      {!isValid && <Text size="sm">Correct the days to see who gets which mail.</Text>}
      {isValid && <ProblemAlert error={preview.error} />}
      {isValid && preview.isLoading && <Skeleton height={80} />}
      {isValid && preview.data && <NextMails {...props} data={preview.data} />}
    </Stack>
  );
};

type MailsProps = Pick<ReturnType<typeof useRemindersPreview>, 'settings' | 'showAll'> & { data: Preview };

const NextMails = ({ settings, showAll, data }: MailsProps) => {
  const { access_days, access_admins, invitation_days, inactive_days, suspend_days, weekly_digest } =
    settings;
  const hasReminders = access_days > 0 || invitation_days > 0 || inactive_days > 0;
  if (!hasReminders && !weekly_digest) return <Text size="sm">Everything is off. No mails are sent.</Text>;
  return (
    <>
      {hasReminders && (
        <>
          <Text size="sm">In the next hour, with these settings:</Text>
          <List spacing="xs" size="sm">
            {access_days > 0 && (
              <Recipients section={data.access} showAll={showAll} describe={describeAccess}>
                {countOf(data.access, 'person is', 'people are')} mailed that their access ends
              </Recipients>
            )}
            {access_days > 0 && access_admins && (
              <Recipients section={data.access_admins} showAll={showAll}>
                {countOf(data.access_admins, 'admin is', 'admins are')} mailed about access that ends
              </Recipients>
            )}
            {invitation_days > 0 && (
              <Recipients
                section={data.invitations}
                showAll={showAll}
                describe={describeInvitation}
                isInvited
              >
                {countOf(data.invitations, 'invited person is', 'invited people are')} reminded
              </Recipients>
            )}
            {inactive_days > 0 && (
              <Recipients section={data.inactive} showAll={showAll} describe={describeLogin}>
                {countOf(data.inactive, 'member is', 'members are')} warned
              </Recipients>
            )}
            {inactive_days > 0 && suspend_days > 0 && (
              <Recipients section={data.suspended} showAll={showAll} describe={describeWarning}>
                {countOf(data.suspended, 'member is', 'members are')} suspended
              </Recipients>
            )}
          </List>
        </>
      )}
      {weekly_digest && <NextDigest data={data} showAll={showAll} />}
    </>
  );
};

/** The digest of the last seven days, as an example: Monday's digest covers another week. */
const NextDigest = ({ data: { weekly_digest: section, digest }, showAll }: Omit<MailsProps, 'settings'>) => (
  <>
    <Text size="sm">On Monday:</Text>
    <List spacing="xs" size="sm">
      {section.count > 0 ? (
        <Recipients
          section={section}
          showAll={showAll}
          after={` From the last seven days, it would say: ${digestText(digest)}.`}
        >
          {countOf(section, 'admin gets', 'admins get')} the digest
        </Recipients>
      ) : (
        <List.Item>The last seven days have nothing for a digest. Without news, none is sent.</List.Item>
      )}
    </List>
  </>
);

type RecipientsProps = {
  section: Section;
  showAll: (() => void) | undefined;
  describe?: (person: Person) => string;
  /** Whether they are invited people, who have no screen. */
  isInvited?: boolean;
  after?: string;
  children: ReactNode;
};

/** `One member is warned: ada@acme.test (last login 3 Mar).` */
const Recipients = ({ section, showAll, describe, isInvited = false, after, children }: RecipientsProps) => (
  <List.Item className="break-words">
    {children}
    {section.people.map((person, index) => (
      <span key={person.email}>
        {index === 0 ? ': ' : ', '}
        {isInvited ? (
          person.email
        ) : (
          <Anchor component={Link} to={`/people/${person.email}`} size="sm" underline="always">
            {person.email}
          </Anchor>
        )}
        {describe && ` (${describe(person)})`}
      </span>
    ))}
    {section.count > section.people.length && (showAll ? ' and others' : ' and more')}.{after}
    {section.count > section.people.length && showAll && (
      <Button variant="subtle" size="compact-sm" onClick={showAll}>
        Show all {section.count.toLocaleString()}
      </Button>
    )}
  </List.Item>
);

/** `Churn, Sales from 26 Nov on` */
const describeAccess = ({ at, apps }: Person): string => {
  const end = at && (apps.length > 1 ? ` from ${shortDateOf(at)} on` : ` on ${shortDateOf(at)}`);
  return apps.join(', ') + (end ?? '');
};

const describeInvitation = ({ at }: Person): string => (at ? `expires ${shortDateOf(at)}` : 'expires');

const describeLogin = ({ at }: Person): string =>
  at ? `last login ${shortDateOf(at)}` : 'has never logged in';

const describeWarning = ({ at }: Person): string => (at ? `warned ${shortDateOf(at)}` : 'warned');

const countOf = (section: Section, one: string, many: string): string => {
  if (section.count === 0) return `No ${one}`;
  return section.count === 1 ? `One ${one}` : `${section.count.toLocaleString()} ${many}`;
};

const DIGEST = [
  ['new_people', 'new person', 'new people'],
  ['left_people', 'person who left', 'people who left'],
  ['ending_grants', 'grant of an app that ends', 'grants of apps that end'],
  ['waiting_invitations', 'invitation that waits', 'invitations that wait'],
  ['bounced_invitations', 'invitation that did not arrive', 'invitations that did not arrive'],
  ['waiting_requests', 'request that waits', 'requests that wait'],
] as const;

const digestText = (digest: Preview['digest']): string => {
  const parts = DIGEST.filter(([field]) => digest[field] > 0).map(
    ([field, one, many]) => `${digest[field].toLocaleString()} ${digest[field] === 1 ? one : many}`,
  );
  const { used_apps: used, unused_apps: unused } = digest;
  if (used.length > 0) parts.push(`used apps: ${used.map(({ label }) => label).join(', ')}`);
  if (unused.length > 0) parts.push(`unused apps: ${unused.join(', ')}`);
  return parts.join('; ');
};
