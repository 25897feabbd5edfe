import { Stack, Text } from '@mantine/core';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { nameOf } from '../components/name-of.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PersonInput } from '../components/person-input.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { CLIENT_ADMIN, CLIENT_ROLES, personWith, refusalOf } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { RoleChoice, RolePreview } from './role-choice.tsx';
import { delegatedIn } from './roles-dialog.tsx';

type FormProps = { client: { id: number; name: string }; roles: readonly string[]; onClose: () => void };
type Props = Omit<FormProps, 'roles'> & {
  /** The names of the roles that are chosen at first; undefined: the dialog is closed. */
  roles: readonly string[] | undefined;
};

/** Gives roles in a client to anyone by address: at once to a member, to others by an invitation. */
export const GiveRolesDialog = ({ roles, ...props }: Props) => (
  <Dialog
    isOpen={roles !== undefined}
    onClose={props.onClose}
    title={
      roles?.includes(CLIENT_ADMIN)
        ? `Add an admin to ${props.client.name}`
        : `Give a role in ${props.client.name}`
    }
    size="lg"
    isSticky
  >
    {roles && <GiveRolesForm {...props} roles={roles} />}
  </Dialog>
);

/** Someone who is not a member yet. `who`: the name, or the address. */
type Stranger = { email: string; who: string };

const GiveRolesForm = ({ client, roles, onClose }: FormProps) => {
  const own = useSession();
  const [email, setEmail] = useState('');
  const [chosen, setChosen] = useState<string[]>([...roles]);
  const [stranger, setStranger] = useState<Stranger>();
  const { give, invite, prompt } = useGiving(client.id, setStranger, onClose);
  const choice = { email: email.trim().toLowerCase(), chosen };
  const errors = joined(fieldErrors(give.error ?? invite.error));
  const as = personWith(chosen);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    give.mutate(choice);
  };
  if (stranger)
    return (
      <Stack>
        <Text>
          {stranger.who} is not in {client.name} yet. Invite as {as}? The role begins when they accept.{' '}
          {own.sends_mail
            ? 'They get a mail with the link.'
            : 'No mail server is set up: copy their link from Invitations, and send it.'}
        </Text>
        <ProblemAlert error={withoutConfirmation(invite.error)} />
        <DialogButtons
          action={`Invite as ${as}`}
          dismiss="Back"
          isPending={invite.isPending}
          onAction={() => invite.mutate(choice)}
          onClose={() => {
            invite.reset();
            setStranger(undefined);
          }}
        />
        {prompt}
      </Stack>
    );
  return (
    <>
      <form onSubmit={submit}>
        <Stack>
          <PersonInput
            label="Email address"
            description="A member gets the role at once. Others get an invitation."
            placeholder="Name or email address"
            required
            among={{ client: client.id }}
            without={new Set([own.user.email])}
            value={email}
            onChange={setEmail}
            error={errors.email}
          />
          <RoleChoice
            roles={CLIENT_ROLES}
            refusalOf={(role) => refusalOf(own.roles, role, client.id)}
            value={chosen}
            onChange={setChosen}
            error={errors.roles}
          />
          <RolePreview
            who={email.trim() || 'The person'}
            without="Without a role, people can only open the apps they were given."
            chosen={chosen}
            held={[]}
          />
          <ProblemAlert error={withoutConfirmation(give.error)} />
          <DialogButtons
            action="Continue"
            isPending={give.isPending}
            isDisabled={!email.includes('@') || chosen.length === 0}
            onClose={onClose}
          />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

type Choice = { email: string; chosen: readonly string[] };

/** Undefined for an address that has no account, or none that the user may see. */
const ifKnown = (error: unknown) => {
  if (isProblem(error, 'not-found')) return undefined;
  throw error;
};

/** The membership of the person with this address, if any, and their name as far as the user may know it. */
const findPerson = async (id: number, email: string) => {
  const memberships = await steward.api.memberships.list.query({ email }).catch(ifKnown);
  const member = memberships?.find(({ client }) => client === id);
  if (member) return { member, who: email };
  const person = await steward.api.users.get.query({ email }).catch(ifKnown);
  return { member: undefined, who: person ? nameOf(person) : email };
};

const useGiving = (id: number, onStranger: (stranger: Stranger) => void, onDone: () => void) => {
  const queryClient = useQueryClient();
  const refresh = useAccessRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const onSettled = () =>
    Promise.all([
      refresh(),
      ...[trpc.roles, trpc.clients.overview, trpc.invitations, trpc.mail, trpc.attention].map((part) =>
        queryClient.invalidateQueries(part.pathFilter()),
      ),
    ]);
  const give = useMutation({
    mutationFn: async ({ email, chosen }: Choice) => {
      const { member, who } = await findPerson(id, email);
      if (!member) return { email, who };
      if (chosen.includes(CLIENT_ADMIN) && !member.is_admin)
        await steward.api.roles.setClientAdmin.mutate({ id, email, is_admin: true });
      const delegated = delegatedIn([...member.roles, ...chosen]);
      if (delegated.length > member.roles.length)
        await steward.api.roles.setInClient.mutate({ id, email, roles: delegated });
      return null;
    },
    onSuccess: (stranger, { email }) => {
      if (stranger) return onStranger(stranger);
      notify(`Changed the roles of ${email}.`);
      onDone();
    },
    onError: (error, choice) => onError(error, () => give.mutate(choice)),
    onSettled,
  });
  const invite = useMutation({
    mutationFn: ({ email, chosen }: Choice) =>
      steward.api.invitations.create.mutate({
        items: [
          {
            email,
            client: id,
            roles: CLIENT_ROLES.flatMap(({ name }) => (chosen.includes(name) ? name : [])),
          },
        ],
      }),
    onSuccess: (_made, { email, chosen }) => {
      notify(`Invited ${email} as ${personWith(chosen)}.`);
      onDone();
    },
    onError: (error, choice) => onError(error, () => invite.mutate(choice)),
    onSettled,
  });
  return { give, invite, prompt };
};
