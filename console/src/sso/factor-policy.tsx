import { Checkbox, List, NumberInput, Radio, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { shortDateOf } from '../components/date-text.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText, joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';

type Policy = Outputs['clients']['factorPolicy'];
type Props = { id: number; isReadOnly: boolean };

/** Who needs a second factor to log in and to open the apps of a client. */
export const FactorPolicy = (props: Props) => {
  const policy = useQuery(trpc.clients.factorPolicy.queryOptions({ id: props.id }));
  return (
    <>
      <ProblemAlert error={policy.error} />
      {policy.isPending && <Skeleton height={280} />}
      {policy.data && <PolicyForm {...props} policy={policy.data} />}
    </>
  );
};

const CHOICES = [
  {
    value: 'off',
    label: 'Members decide',
    description: 'Members can set up a second factor. The console does not suggest it.',
  },
  { value: 'optional', label: 'Recommended', description: 'The console suggests that members set one up.' },
  {
    value: 'required',
    label: 'Required',
    description: 'After the grace period, members need one to log in and to open the apps of this client.',
  },
  {
    value: 'passkey',
    label: 'A passkey is required',
    description: 'Members need a passkey. Codes from an app are not enough, because they can be phished.',
  },
] as const;

type Choice = (typeof CHOICES)[number]['value'];
type Values = { policy: Choice; days: number; mails: boolean };

const valuesOf = ({
  factor_policy: policy,
  factor_grace_days: days,
  factor_mails: mails,
}: Policy): Values => ({
  policy,
  days,
  mails,
});

const PolicyForm = ({ id, isReadOnly, policy }: Props & { policy: Policy }) => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: valuesOf(policy) });
  const [isAsking, { open, close }] = useDisclosure();
  useUnsavedWork(form.isDirty());
  const update = useMutation(
    trpc.clients.updateFactorPolicy.mutationOptions({
      onSuccess: (saved) => {
        form.setInitialValues(valuesOf(saved));
        form.reset();
        for (const router of [trpc.clients.factorPolicy, trpc.audit, trpc.sessions.current, trpc.attention])
          void queryClient.invalidateQueries(router.pathFilter());
      },
    }),
  );
  const { policy: choice, days, mails } = form.values;
  const isRequired = choice === 'required' || choice === 'passkey';
  const save = (): void =>
    update.mutate({ id, factor_policy: choice, factor_grace_days: days, factor_mails: mails });
  const wrong = joined(fieldErrors(update.error)).factor_grace_days;
  return (
    <form className="card" aria-label="Second factor" onSubmit={form.onSubmit(isRequired ? open : save)}>
      <Stack maw={520}>
        <Title order={2} size="h3">
          Second factor
        </Title>
        {isReadOnly ? (
          <Text>{CHOICES.find(({ value }) => value === choice)?.label}</Text>
        ) : (
          <Radio.Group label="Members log in with a second factor" {...form.getInputProps('policy')}>
            <Stack gap="xs" mt="xs">
              {CHOICES.map((each) => (
                <Radio key={each.value} {...each} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        {isRequired && (
          <>
            <NumberInput
              label="Days of grace"
              description="From now on, or from the day a person joins."
              min={0}
              max={365}
              {...asText(isReadOnly)}
              {...form.getInputProps('days')}
              error={wrong}
            />
            <Checkbox
              label="Mail members who have none, and remind them three days before"
              disabled={isReadOnly}
              {...form.getInputProps('mails', { type: 'checkbox' })}
            />
          </>
        )}
        {policy.factor_policy_since && (
          <Text size="sm" c="dimmed">
            Required since {shortDateOf(policy.factor_policy_since)}.
          </Text>
        )}
        {isReadOnly && <Text c="dimmed">Only client admins and superusers can change this.</Text>}
      </Stack>
      {!isReadOnly && (
        <StickyFormButtons
          isDirty={form.isDirty()}
          isSaving={update.isPending}
          isSaved={update.isSuccess}
          problem={wrong === undefined ? update.error : null}
          onDiscard={form.reset}
        />
      )}
      <ConfirmModal
        isOpen={isAsking}
        title={choice === 'passkey' ? 'Require a passkey?' : 'Require a second factor?'}
        action="Require it"
        onConfirm={save}
        onClose={close}
      >
        {isRequired && <FactorPolicyPreview clientId={id} policy={choice} days={days} sendsMails={mails} />}
      </ConfirmModal>
    </form>
  );
};

const SHOWN = 5;

type PreviewProps = { clientId: number; policy: 'required' | 'passkey'; days: number; sendsMails: boolean };

/** The people whom a required second factor concerns, in words. */
const FactorPolicyPreview = ({ clientId, policy, days, sendsMails }: PreviewProps) => {
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
        <List.Item>
          No one is locked out. People who have none by then set one up on the login page.
        </List.Item>
        {policy === 'passkey' && (
          <List.Item>
            A passkey needs a browser with JavaScript, and a device, security key or password manager that
            stores it.
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
            {countOf(views, 'share link opens', 'share links open')} an app as a person, who will have to log
            in first.
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
