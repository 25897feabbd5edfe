import { Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { steward } from '../api.ts';
import { ownerOf, useOwners } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScopesInput, scopesOf } from '../components/token-limits.tsx';
import { RoleChoice, RolePreview } from '../roles/role-choice.tsx';
import { CLIENT_ROLES, GLOBAL_ROLES, mayDoAllOf } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { type ServiceAccount, useServiceAccountRefresh } from './use-service-account.ts';

type Values = { owner: string; name: string; description: string; roles: string[]; scopes: string[] };

type FormProps = {
  /** Undefined: a new one. */
  account?: ServiceAccount;
  /** The client of a new one. Undefined: the user chooses. */
  client?: number | undefined;
  onClose: () => void;
  onCreated?: (created: ServiceAccount) => void;
};

/** Creates or edits a service account. */
export const ServiceAccountDialog = ({ isOpen, ...props }: FormProps & { isOpen: boolean }) => (
  <Dialog
    isOpen={isOpen}
    onClose={props.onClose}
    title={props.account ? 'Edit service account' : 'New service account'}
    size="lg"
    isSticky
  >
    {isOpen && <ServiceAccountForm {...props} />}
  </Dialog>
);

const ServiceAccountForm = ({ account, client, onClose, onCreated }: FormProps) => {
  const own = useSession().roles;
  const owners = useOwners();
  const form = useForm<Values>({
    initialValues: {
      owner: client === undefined ? (owners[0]?.value ?? '') : String(client),
      name: account?.name ?? '',
      description: account?.description ?? '',
      roles: account?.roles ?? [],
      scopes: account?.scopes ?? [],
    },
  });
  const { owner: chosen, name, roles } = form.getValues();
  const owner = account ? account.client : ownerOf(chosen);
  const { save, prompt } = useSave(account, onClose, onCreated);
  const errors = joined(fieldErrors(save.error));
  const { onChange: onOwner, ...ownerProps } = form.getInputProps('owner');
  return (
    <>
      <form
        onSubmit={form.onSubmit((values) =>
          save.mutate(values, { onError: (error) => form.setErrors(joined(fieldErrors(error))) }),
        )}
      >
        <Stack>
          {account === undefined && client === undefined && owners.length > 1 && (
            <Select
              label="Belongs to"
              allowDeselect={false}
              data={owners}
              {...ownerProps}
              onChange={(value) => {
                onOwner(value);
                form.setFieldValue('roles', []);
              }}
            />
          )}
          <TextInput
            label="Name"
            placeholder="Nightly export"
            required
            maxLength={100}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <TextInput label="Description" maxLength={500} {...form.getInputProps('description')} />
          <RoleChoice
            roles={owner === null ? GLOBAL_ROLES : CLIENT_ROLES}
            refusalOf={(role) =>
              mayDoAllOf(own, role, owner) ? null : 'It allows more than your own roles.'
            }
            {...form.getInputProps('roles')}
            value={roles}
          />
          <RolePreview
            who={name.trim() || 'The account'}
            without="Without a role, the account cannot see people or change anything."
            chosen={roles}
            held={account?.roles ?? []}
          />
          <ScopesInput
            description="Limit all its tokens. Without a scope, they can do everything that the roles allow."
            {...form.getInputProps('scopes')}
            value={form.getValues().scopes}
          />
          {Object.keys(errors).length === 0 && <ProblemAlert error={withoutConfirmation(save.error)} />}
          <DialogButtons action={account ? 'Save' : 'Create'} isPending={save.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const useSave = (
  account: ServiceAccount | undefined,
  onClose: () => void,
  onCreated: FormProps['onCreated'],
) => {
  const refresh = useServiceAccountRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const save = useMutation({
    mutationFn: ({ owner, scopes, ...values }: Values): Promise<ServiceAccount> => {
      const fields = { ...values, scopes: scopes.length === 0 ? null : scopesOf(scopes) };
      return account
        ? steward.api.serviceAccounts.update.mutate({ id: account.id, ...fields })
        : steward.api.serviceAccounts.create.mutate({ client: ownerOf(owner), ...fields });
    },
    onSuccess: (saved) => {
      refresh(account ? 'Service account changed.' : 'Service account created.');
      onClose();
      if (!account) onCreated?.(saved);
    },
    onError: (error, values) => onError(error, () => save.mutate(values)),
  });
  return { save, prompt };
};
