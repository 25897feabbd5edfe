import { Button, Group, Menu, Stack, Text, TextInput, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { dateOf } from '../components/date-text.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RowMenu } from '../components/row-menu.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { useSession } from '../session/use-session.ts';

type Domain = Outputs['domains']['list'][number];
type Props = { client: number; isReadOnly: boolean };

/** The domains of email addresses that a client has proved, and the steps to prove others. */
export const Domains = (props: Props) => (
  <Stack className="card" component="section" aria-labelledby="domains">
    <Title order={2} size="h3" id="domains">
      Domains
    </Title>
    <DomainList {...props} />
  </Stack>
);

export const DomainList = ({ client, isReadOnly }: Props) => {
  const domains = useQuery(trpc.domains.list.queryOptions({ id: client }));
  return (
    <>
      <Text c="dimmed">
        Only addresses of domains that you own can log in with your provider. Prove a domain with a record in
        its DNS.
      </Text>
      <ProblemAlert error={domains.error} />
      {domains.data?.length === 0 && <Text>No domain was added yet.</Text>}
      <Stack component="ul" className="plain-list" gap="lg">
        {domains.data?.map((domain) => (
          <DomainRow key={domain.id} client={client} domain={domain} isReadOnly={isReadOnly} />
        ))}
      </Stack>
      {!isReadOnly && <NewDomain client={client} />}
    </>
  );
};

const useDomainRefresh = () => {
  const queryClient = useQueryClient();
  return (message: string): void => {
    for (const router of [trpc.domains, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    notify(message);
  };
};

const DomainRow = ({ client, domain, isReadOnly }: Props & { domain: Domain }) => {
  const [isRemoving, setRemoving] = useState(false);
  const refresh = useDomainRefresh();
  const { roles } = useSession();
  const { onError, prompt } = usePasswordConfirmation();
  const ids = { id: client, domain_id: domain.id };
  const verify = useMutation(
    trpc.domains.verify.mutationOptions({
      onSuccess: () => refresh(`${domain.domain} is verified.`),
      onError: (error) => onError(error, () => verify.mutate(ids)),
    }),
  );
  const vouch = useMutation(
    trpc.domains.vouch.mutationOptions({
      onSuccess: () => refresh(`${domain.domain} is verified.`),
      onError: (error) => onError(error, () => vouch.mutate(ids)),
    }),
  );
  const remove = useMutation(
    trpc.domains.remove.mutationOptions({
      onSuccess: () => refresh(`${domain.domain} was removed.`),
      onError: (error) => onError(error, () => remove.mutate(ids)),
    }),
  );
  const error = verify.error ?? vouch.error ?? remove.error;
  const missing = joined(fieldErrors(error)).domain;
  const isProved = domain.verified_at !== null && domain.lapsed_at === null;
  return (
    <Stack component="li" gap="xs" maw="40rem">
      <Group justify="space-between" wrap="nowrap">
        <div>
          <Text fw={600} className="break-words">
            {domain.domain}
          </Text>
          <Text size="sm" c="dimmed">
            {stateOf(domain)}
          </Text>
        </div>
        {!isReadOnly && (
          <Group gap="xs" wrap="nowrap">
            {!isProved && (
              <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate(ids)}>
                Check now
              </Button>
            )}
            <RowMenu label={`Actions for ${domain.domain}`}>
              {roles.is_superuser && !isProved && (
                <Menu.Item onClick={() => vouch.mutate(ids)}>Vouch for it</Menu.Item>
              )}
              <Menu.Item onClick={() => setRemoving(true)}>Remove</Menu.Item>
            </RowMenu>
          </Group>
        )}
      </Group>
      {missing !== undefined && (
        <Text size="sm" role="alert">
          {missing}
        </Text>
      )}
      {missing === undefined && <ProblemAlert error={withoutConfirmation(error)} />}
      {!isProved && !isReadOnly && (
        <>
          <Text size="sm">
            Add this TXT record where you manage the DNS of {domain.domain}, then choose “Check now”. New
            records may take hours to appear.
          </Text>
          <SecretField
            label={`Name of the record for ${domain.domain}`}
            value={domain.record_name}
            isSecondary
          />
          <SecretField
            label={`Value of the record for ${domain.domain}`}
            value={domain.record_value}
            isSecondary
          />
        </>
      )}
      {prompt}
      <ConfirmModal
        isOpen={isRemoving}
        title={`Remove ${domain.domain}?`}
        action="Remove"
        isDanger
        onConfirm={() => remove.mutate(ids)}
        onClose={() => setRemoving(false)}
      >
        <Text>
          Logins with its addresses ask for the password again. People who are connected can still log in.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};

const stateOf = ({ verified_at, lapsed_at, vouched_by, checked_at }: Domain): string => {
  if (lapsed_at) return `The record is gone since ${dateOf(lapsed_at)}: no one new can log in.`;
  if (!verified_at) return 'Not verified yet.';
  if (vouched_by !== null) return `Verified by ${vouched_by} on ${dateOf(verified_at)}.`;
  return `Verified${checked_at ? `, last checked on ${dateOf(checked_at)}` : ''}.`;
};

const NewDomain = ({ client }: { client: number }) => {
  const [domain, setDomain] = useState('');
  const refresh = useDomainRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const add = useMutation(
    trpc.domains.add.mutationOptions({
      onSuccess: (added) => {
        setDomain('');
        refresh(`${added.domain} was added.`);
      },
      onError: (error, input) => onError(error, () => add.mutate(input)),
    }),
  );
  const invalid = joined(fieldErrors(add.error)).domain;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate({ id: client, domain });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" maw="32rem">
        <Group align="flex-end">
          <TextInput
            label="New domain"
            placeholder="acme.com"
            flex={1}
            maxLength={253}
            value={domain}
            onChange={({ currentTarget }) => setDomain(currentTarget.value)}
            error={invalid}
          />
          <Button type="submit" variant="default" disabled={domain.trim() === ''} loading={add.isPending}>
            Add domain
          </Button>
        </Group>
        {invalid === undefined && <ProblemAlert error={withoutConfirmation(add.error)} />}
      </Stack>
      {prompt}
    </form>
  );
};
