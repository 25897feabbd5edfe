import { List, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { Membership } from './person-state.ts';

type RemovalProps = {
  email: string;
  membership: Membership;
  onRemoved: (membership: Membership) => Promise<void>;
  onClose: () => void;
};

type Props = Omit<RemovalProps, 'membership'> & { membership: Membership | null };

/** Removes a person from a client, after showing what would end. */
export const RemoveMemberModal = ({ membership, ...props }: Props) => (
  <Dialog
    isOpen={membership !== null}
    onClose={props.onClose}
    title={membership && `Remove ${props.email} from ${membership.client_name}?`}
  >
    {membership && <Removal membership={membership} {...props} />}
  </Dialog>
);

const Removal = ({ email, membership, onRemoved, onClose }: RemovalProps) => {
  const { client: id, client_name: name } = membership;
  const preview = useQuery(trpc.memberships.previewRemoval.queryOptions({ id, email }, { gcTime: 0 }));
  const remove = useMutation(
    trpc.memberships.remove.mutationOptions({
      onSuccess: async () => {
        onClose();
        await onRemoved(membership);
      },
    }),
  );
  return (
    <Stack>
      <ProblemAlert error={preview.error ?? remove.error} />
      {preview.isPending && <Skeleton height={100} />}
      {preview.data && <Ended preview={preview.data} client={name} />}
      <DialogButtons
        action={preview.data?.deactivates_account ? 'Remove and deactivate' : 'Remove from client'}
        isDanger
        isPending={remove.isPending}
        isDisabled={!preview.data}
        onAction={() => remove.mutate({ id, email })}
        onClose={onClose}
      />
    </Stack>
  );
};

const LIST = new Intl.ListFormat('en-GB');

type EndedProps = { preview: Outputs['memberships']['previewRemoval']; client: string };

const Ended = ({
  preview: { apps, groups, access_views: views, deactivates_account },
  client,
}: EndedProps) => (
  <>
    {groups.length > 0 && (
      <Text>
        They leave the {groups.length === 1 ? 'group' : 'groups'} {LIST.format(groups)}, and lose what only
        groups give.
      </Text>
    )}
    {apps.length > 0 ? (
      <div>
        <Text>They lose these apps at once:</Text>
        <List>
          {apps.map(({ id, label }) => (
            <List.Item key={id}>{label}</List.Item>
          ))}
        </List>
      </div>
    ) : (
      <Text>No app of {client} is granted to them.</Text>
    )}
    {views > 0 && (
      <Text>
        {views === 1
          ? '1 share link stops working: it opens an app as this person.'
          : `${views.toLocaleString()} share links stop working: they open apps as this person.`}
      </Text>
    )}
    <Text>
      {deactivates_account
        ? 'They belong to no other client: the account is deactivated, and they are logged out everywhere.'
        : 'The account and other clients stay as they are.'}
    </Text>
  </>
);
