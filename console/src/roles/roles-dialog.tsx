import { Skeleton, Stack, Text } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { isSame, joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import {
  CLIENT_ADMIN,
  CLIENT_ROLES,
  DELEGATED_ROLES,
  isSuperuser,
  membershipRoles,
  refusalOf,
} from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { RoleChoice, RolePreview } from './role-choice.tsx';

/** A person, with their roles in a client. */
export type Holder = { email: string; is_admin: boolean; roles: readonly string[] };

type FormProps = {
  client: { id: number; name: string };
  holder: Holder;
  onClose: () => void;
};

/** Gives and ends roles of a person in a client, and says before what they allow. */
export const RolesDialog = ({
  isOpen,
  holder,
  ...props
}: Omit<FormProps, 'holder'> & { isOpen: boolean; holder: Holder | null }) => (
  <Dialog
    isOpen={isOpen}
    onClose={props.onClose}
    title={`Roles of ${holder?.email} in ${props.client.name}`}
    size="lg"
    isSticky
  >
    {isOpen && holder && <RolesForm {...props} holder={holder} />}
  </Dialog>
);

const RolesForm = ({ client, holder, onClose }: FormProps) => {
  const own = useSession();
  const { email } = holder;
  const held = membershipRoles(holder).map(({ name }) => name);
  const [chosen, setChosen] = useState<string[]>(held);
  const { save, prompt } = useSave(client.id, held, onClose);
  const may = useQuery(trpc.users.permissions.queryOptions({ email }, { staleTime: 0 }));
  const isAdmin = held.includes(CLIENT_ADMIN);
  const [overview] =
    useQuery(
      trpc.clients.overview.queryOptions(
        { client: client.id },
        { enabled: isAdmin && isSuperuser(own.roles), staleTime: 0 },
      ),
    ).data ?? [];
  const isOnlyAdmin = isAdmin && overview?.admins === 1;
  if (may.data?.can_set_roles === false)
    return <Text>This person has more rights than you. Only superusers can change their roles.</Text>;
  if (may.isPending) return <Skeleton height={240} />;
  const faults = joined(fieldErrors(save.error));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate({ email, chosen });
  };
  return (
    <>
      <form onSubmit={submit}>
        <Stack>
          <RoleChoice
            roles={CLIENT_ROLES}
            refusalOf={(role) =>
              role.name === CLIENT_ADMIN && isOnlyAdmin
                ? `This is the only admin of ${client.name}. Add another one first.`
                : refusalOf(own.roles, role, client.id)
            }
            value={chosen}
            onChange={setChosen}
            error={faults.roles}
          />
          <RolePreview
            who={email}
            without="Without a role, people can only open the apps they were given."
            chosen={chosen}
            held={held}
          />
          <ProblemAlert error={may.error ?? withoutConfirmation(save.error)} />
          <DialogButtons
            action="Save"
            isPending={save.isPending}
            isDisabled={isSame(chosen.toSorted(), held.toSorted())}
            onClose={onClose}
          />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

export const delegatedIn = (names: readonly string[]) =>
  DELEGATED_ROLES.flatMap(({ name }) => (names.includes(name) ? name : []));

type Choice = { email: string; chosen: readonly string[] };

/** @param held the names of the present roles */
const useSave = (id: number, held: readonly string[], onDone: () => void) => {
  const queryClient = useQueryClient();
  const refresh = useAccessRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const save = useMutation({
    // First the admin role, by which superusers add a person to the client.
    mutationFn: async ({ email, chosen }: Choice) => {
      const isAdmin = chosen.includes(CLIENT_ADMIN);
      if (isAdmin !== held.includes(CLIENT_ADMIN))
        await steward.api.roles.setClientAdmin.mutate({ id, email, is_admin: isAdmin });
      const roles = delegatedIn(chosen);
      if (!isSame(roles, delegatedIn(held))) await steward.api.roles.setInClient.mutate({ id, email, roles });
    },
    onSuccess: (_done, { email }) => {
      notify(`Changed the roles of ${email}.`);
      onDone();
    },
    onError: (error, choice) => onError(error, () => save.mutate(choice)),
    onSettled: () =>
      Promise.all([
        refresh(),
        queryClient.invalidateQueries(trpc.roles.pathFilter()),
        queryClient.invalidateQueries(trpc.clients.overview.pathFilter()),
      ]),
  });
  return { save, prompt };
};
