import { Button, Group, List, Loader, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionDialog } from '../components/action-dialog.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { GroupList, PeopleList, ProblemList } from './change-list.tsx';
import { type ChangeCount, countsOf, groupsText, peopleText } from './change-words.ts';
import { type Directory, useDirectoryRefresh, useModeChange } from './use-directory.ts';

type Props = { directory: Directory };

/** What a directory would change, or has not changed, and whether its changes take effect. */
export const Changes = ({ directory }: Props) => {
  const { mode, due, people, groups } = directory;
  const isShowing = mode === 'show';
  const counts = countsOf(directory);
  const hasSent = people + groups > 0 || counts.length > 0;
  return (
    <Stack className="card" component="section" aria-labelledby="directory-changes">
      <Title order={2} size="h3" id="directory-changes">
        {isShowing ? 'Changes are only shown' : 'Changes take effect at once'}
      </Title>
      <Text c="dimmed">
        {isShowing
          ? 'What the directory sends changes nothing yet. Look at what would happen, then apply it.'
          : 'What the directory sends changes people and groups of this client as soon as it arrives.'}
      </Text>
      <Group gap="xs" role="status" fw={600}>
        {due > 0 && <Loader size="xs" aria-hidden />}
        {hasSent ? stateOf(directory, counts) : 'The directory has sent no people yet.'}
      </Group>
      <Counts directory={directory} counts={counts} />
      {directory.changes.invite && <InviteHint client={directory.client} />}
      <Group>
        {isShowing && hasSent && <Apply directory={directory} counts={counts} label="Apply" />}
        {!isShowing && due === 0 && counts.length > 0 && (
          <Apply directory={directory} counts={counts} label="Apply these" />
        )}
        {!isShowing && <OnlyShow directory={directory} />}
      </Group>
    </Stack>
  );
};

const stateOf = (
  { mode, due, problems, people, groups }: Directory,
  counts: readonly ChangeCount[],
): string => {
  const stated = groups === 0 ? peopleText(people) : `${peopleText(people)} and ${groupsText(groups)}`;
  if (due > 0) return `Applying, ${due.toLocaleString()} left.`;
  if (counts.length === 0 && problems === 0) return `All is as the directory states it: ${stated}.`;
  return mode === 'show'
    ? `Of ${stated} in the directory:`
    : 'Differs from the directory, such as after a change in Steward:';
};

/** Each opens its list. */
const Counts = ({ directory, counts }: Props & { counts: readonly ChangeCount[] }) => {
  const { client, problems } = directory;
  const [opened, setOpened] = useState<string | null>(null);
  const toggle = (key: string) => () => setOpened(opened === key ? null : key);
  if (counts.length === 0 && problems === 0) return null;
  return (
    <Stack component="ul" className="plain-list" gap="xs" aria-label="Changes">
      {problems > 0 && (
        <Count
          text={`${problems.toLocaleString()} could not be applied`}
          isRed
          isOpen={opened === 'problems'}
          onToggle={toggle('problems')}
        >
          <ProblemList client={client} />
        </Count>
      )}
      {counts.map((count) => {
        const key = `${count.of} ${count.change}`;
        return (
          <Count
            key={key}
            text={`${count.who} would ${count.what}`}
            isRed={count.isEnding}
            isOpen={opened === key}
            onToggle={toggle(key)}
          >
            {count.of === 'people' ? (
              <PeopleList client={client} change={count.change} />
            ) : (
              <GroupList client={client} change={count.change} />
            )}
          </Count>
        );
      })}
    </Stack>
  );
};

type CountProps = {
  text: string;
  isRed: boolean;
  isOpen: boolean;
  onToggle: () => void;
  children: ReactNode;
};

const Count = ({ text, isRed, isOpen, onToggle, children }: CountProps) => (
  <Stack component="li" gap="xs">
    <div>
      <DisclosureButton isOpen={isOpen} onToggle={onToggle} isRed={isRed}>
        {text}
      </DisclosureButton>
    </div>
    {isOpen && children}
  </Stack>
);

const InviteHint = ({ client }: { client: number }) => (
  <Text size="sm" c="dimmed">
    People are invited instead of added if this client has not verified the domain of their address. Verify it
    under{' '}
    <Link className="text-link" to="/clients/$id" params={{ id: String(client) }} search={{ tab: 'sign-in' }}>
      Sign-in
    </Link>
    .
  </Text>
);

type ApplyProps = Props & { counts: readonly ChangeCount[]; label: string };

const Apply = ({ directory, counts, label }: ApplyProps) => {
  const [isAsking, { open, close }] = useDisclosure();
  const { apply, state, reset, prompt } = useModeChange(directory.client, close);
  const refresh = useDirectoryRefresh();
  const endings = new Set(counts.filter((count) => count.isEnding).map((count) => count.of));
  return (
    <>
      <Button
        onClick={() => {
          reset();
          // What is confirmed must be what happens.
          refresh();
          open();
        }}
      >
        {label}
      </Button>
      <ActionDialog
        isOpen={isAsking}
        title="Apply the changes?"
        action="Apply"
        isDanger={endings.size > 0}
        run={() => apply(directory)}
        state={state}
        onClose={close}
      >
        <Stack gap="xs">
          {counts.length === 0 ? (
            <Text>Nothing changes now.</Text>
          ) : (
            <List>
              {counts.map(({ of, change, who, what, isEnding }) => (
                <List.Item
                  key={`${of} ${change}`}
                  {...(isEnding && { c: 'var(--mantine-color-error)', fw: 600 })}
                >
                  {who} will {what}
                </List.Item>
              ))}
            </List>
          )}
          {endings.has('people') && (
            <Text>
              People who are suspended or removed lose all access to this client. None of this waits for
              approval.
            </Text>
          )}
          {endings.has('groups') && (
            <Text>Members of removed groups lose the apps that only these groups give them.</Text>
          )}
          {directory.mode === 'show' && (
            <Text>From then on, what the directory sends takes effect at once.</Text>
          )}
        </Stack>
      </ActionDialog>
      {prompt}
    </>
  );
};

const OnlyShow = ({ directory }: Props) => {
  const [isAsking, { open, close }] = useDisclosure();
  const { onlyShow, state, reset, prompt } = useModeChange(directory.client, close);
  return (
    <>
      <Button
        variant="default"
        onClick={() => {
          reset();
          open();
        }}
      >
        Only show changes
      </Button>
      <ActionDialog
        isOpen={isAsking}
        title="Only show changes?"
        action="Only show"
        run={onlyShow}
        state={state}
        onClose={close}
      >
        <Text>
          Until you apply changes again, new people do not join, and people who leave keep their access. Past
          changes stay.
        </Text>
      </ActionDialog>
      {prompt}
    </>
  );
};
