import { Button, Group, List, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { UseMutationResult, UseQueryResult } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useForget } from '../components/use-forget.ts';

/** The user must type `name`; all other fields are counts. */
type Preview = { name: string; is_closed: boolean } & Record<string, string | number | boolean>;

export type RemovalProps = {
  /** The object to remove: `app` or `client`. */
  noun: 'app' | 'client';
  /** Shown while the object is open: how to close it first. */
  closing: ReactNode;
  preview: UseQueryResult<Preview, unknown>;
  remove: Pick<UseMutationResult<unknown, unknown, string>, 'mutate' | 'isPending' | 'error'>;
};

type Props = Omit<RemovalProps, 'preview' | 'remove'> & {
  name: string;
  isClosed: boolean;
  children: (close: () => void) => ReactNode;
};

/** Offers superusers to remove a closed object. */
export const RemovalPanel = ({ noun, name, isClosed, closing, children }: Props) => {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <Stack className="card" align="flex-start" mt="md">
      <Title order={2} size="h3">
        Remove this {noun}
      </Title>
      {isClosed ? (
        <Button color="red" variant="light" onClick={open}>
          Remove {name}
        </Button>
      ) : (
        <Text c="dimmed">{closing}</Text>
      )}
      <Dialog isOpen={isOpen} onClose={close} title={`Remove ${name}?`}>
        {isOpen && children(close)}
      </Dialog>
    </Stack>
  );
};

type FormProps = Pick<RemovalProps, 'noun' | 'preview' | 'remove'> & { onClose: () => void };

/** Shows what would be removed with it, and removes it after its name was typed. */
export const RemovalForm = ({ noun, preview, remove, onClose }: FormProps) => {
  const [typed, setTyped] = useState('');
  return (
    <Stack>
      <ProblemAlert error={withoutConfirmation(preview.error ?? remove.error)} />
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Counted noun={noun} preview={preview.data} />}
      <Text>
        <strong>This cannot be undone.</strong> Make a backup first. The audit trail stays, and names who
        removed the {noun}.
      </Text>
      <TextInput
        label={
          <>
            Type <strong>{preview.data?.name ?? 'the name'}</strong> to confirm
          </>
        }
        data-autofocus
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(value)}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color="red"
          loading={remove.isPending}
          disabled={!preview.data || typed !== preview.data.name}
          onClick={() => remove.mutate(typed)}
        >
          Remove the {noun}
        </Button>
      </Group>
    </Stack>
  );
};

const WORDS: Record<string, { one: string; many: string }> = {
  groups_with_it: { one: '1 app of a group', many: '# apps of groups' },
  deactivated_accounts: { one: '1 account becomes inactive', many: '# accounts become inactive' },
  access_requests: { one: '1 request for access', many: '# requests for access' },
  usage_entries: { one: '1 usage entry', many: '# usage entries' },
  loads: { one: '1 load of a package', many: '# loads of packages' },
  access_views: { one: '1 share link', many: '# share links' },
};

/** `1 app`, `2 accounts become inactive` */
const countedText = (key: string, count: number): string => {
  const many = `# ${key.replaceAll('_', ' ')}`;
  const words = WORDS[key] ?? { one: `1 ${many.slice(2).replace(/s$/, '')}`, many };
  return count === 1 ? words.one : words.many.replace('#', count.toLocaleString());
};

const Counted = ({
  noun,
  preview: { name: _, is_closed: __, ...counts },
}: {
  noun: string;
  preview: Preview;
}) => {
  const found = Object.entries(counts).filter(([, count]) => typeof count === 'number' && count > 0);
  if (found.length === 0) return <Text>Nothing belongs to this {noun}.</Text>;
  return (
    <div>
      <Text>The removal includes:</Text>
      <List size="sm">
        {found.map(([key, count]) => (
          <List.Item key={key}>{countedText(key, Number(count))}</List.Item>
        ))}
      </List>
    </div>
  );
};

/** What happens after a removal, and the prompt for the password before it. */
export const useRemoval = (to: '/apps' | '/clients') => {
  const navigate = useNavigate();
  const forget = useForget();
  const confirmation = usePasswordConfirmation();
  const onRemoved = async (name: string): Promise<void> => {
    notify(`${name} was removed.`);
    await forget();
    await navigate({ to, search: {} });
  };
  return { ...confirmation, onRemoved };
};
