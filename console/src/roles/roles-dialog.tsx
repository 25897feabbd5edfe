import { Skeleton, Stack, Text } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { isSame, joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PersonInput } from '../components/person-input.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import {
  CLIENT_ADMIN,
  CLIENT_ROLES,
  DELEGATED_ROLES,
  isSuperuser,
  mayDoAllOf,
  membershipRoles,
  type Role,
  type Roles,
} from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { RoleChoice, RolePreview } from './role-choice.tsx';

/** A person, with their roles in a client. */
export type Holder = { email: string; is_admin: boolean; roles: readonly string[] };

type FormProps = {
  client: { id: number; name: string };
  /** Null: the user chooses a person, who has no role yet. */
  holder: Holder | null;
  onClose: () => void;
};

/** Gives and ends roles of a person in a client, and says before what they allow. */
export const RolesDialog = ({ isOpen, ...props }: FormProps & { isOpen: boolean }) => (
  <Dialog
    isOpen={isOpen}
    onClose={props.onClose}
    title={`${props.holder ? `Roles of ${props.holder.email}` : 'Give roles'} in ${props.client.name}`}
    size="lg"
    isSticky
  >
    {isOpen && <RolesForm {...props} />}
  </Dialog>
);

const RolesForm = ({ client, holder, onClose }: FormProps) => {
  const own = useSession();
  const held = holder ? membershipRoles(holder).map(({ name }) => name) : [];
  const [email, setEmail] = useState(holder?.email ?? '');
  const [chosen, setChosen] = useState<string[]>(held);
  const { save, prompt } = useSave(client.id, held, onClose);
  const may = useQuery(
    trpc.users.permissions.queryOptions({ email }, { enabled: holder !== null, staleTime: 0 }),
  );
  if (may.data?.can_set_roles === false)
    return <Text>Only superusers change the roles of this person, who may do more than you.</Text>;
  if (holder && may.isPending) return <Skeleton height={240} />;
  const { email: fault, ...faults } = joined(fieldErrors(save.error));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate({ email: email.trim(), chosen });
  };
  return (
    <>
      <form onSubmit={submit}>
        <Stack>
          {!holder && (
            <PersonInput
              label="Person"
              description={isSuperuser(own.roles) ? undefined : 'A member of the client.'}
              placeholder="Name or email address"
              required
              among={{ client: client.id }}
              without={new Set([own.user.email])}
              value={email}
              onChange={setEmail}
              error={fault}
            />
          )}
          <RoleChoice
            roles={CLIENT_ROLES}
            refusalOf={(role) => refusalOf(own.roles, role, client.id)}
            value={chosen}
            onChange={setChosen}
            error={faults.roles}
          />
          <RolePreview
            who={email.trim() || 'The person'}
            without="Without a role, people only open the apps that were granted to them."
            chosen={chosen}
            held={held}
          />
          <ProblemAlert error={may.error ?? withoutConfirmation(save.error)} />
          <DialogButtons
            action="Save"
            isPending={save.isPending}
            isDisabled={email.trim() === '' || isSame(chosen.toSorted(), held.toSorted())}
            onClose={onClose}
          />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const refusalOf = (own: Roles, role: Role, client: number): string | null => {
  if (role.name === CLIENT_ADMIN && !isSuperuser(own)) return 'Only superusers give and end it.';
  return mayDoAllOf(own, role, client) ? null : 'It allows more than your own roles.';
};

const delegatedIn = (names: readonly string[]) =>
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
    onSettled: () => Promise.all([refresh(), queryClient.invalidateQueries(trpc.roles.pathFilter())]),
  });
  return { save, prompt };
};
