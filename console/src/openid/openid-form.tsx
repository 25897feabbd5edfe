import {
  Box,
  Button,
  Checkbox,
  Collapse,
  Group,
  Radio,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { steward } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { FormButtons, type FormButtonsProps } from '../components/form-buttons.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { notify } from '../components/toasts.ts';
import { useDraft } from '../components/use-draft.ts';
import { show, useFollow } from '../components/use-record-form.tsx';
import {
  CLAIM_LABELS,
  CLAIMS,
  inOrder,
  type OpenidValues,
  valuesOf,
  withoutEmptyRows,
} from './openid-values.ts';
import { type OpenidApp, openidQuery, useOpenidRefresh } from './use-openid.ts';

type Props = {
  app: App;
  /** Undefined: not set up yet. */
  openid?: OpenidApp;
  onCancel?: () => void;
};

/** How an app logs people in with OpenID Connect. */
export const OpenidForm = ({ app, openid, onCancel }: Props) => {
  const { form, onSubmit, buttons, prompt } = useOpenidForm(app.id, openid);
  const values = form.getValues();
  return (
    <>
      <form className="card" aria-labelledby="openid-settings" onSubmit={onSubmit}>
        <Stack maw="40rem">
          <Title order={2} size="h3" id="openid-settings">
            Log in with OpenID Connect
          </Title>
          <AddressRows
            form={form}
            field="redirect_uris"
            legend="Redirect addresses"
            description="Where people go after they have logged in. The app's documentation names it. It must match exactly."
            rowName="Redirect address"
            placeholder="https://grafana.example.com/login/generic_oauth"
            isFocused={openid === undefined}
          />
          <AddressRows
            form={form}
            field="post_logout_redirect_uris"
            legend="Addresses after logout"
            description="Where the app may send people after they have logged out."
            rowName="Address after logout"
            placeholder="https://grafana.example.com/login"
          />
          <TextInput
            label="Back-channel logout address"
            description="Gets a request when a login has ended. Leave empty to send none."
            maxLength={2048}
            inputMode="url"
            spellCheck={false}
            {...form.getInputProps('backchannel_logout_uri')}
          />
          <NamedSwitch
            label="Public app"
            description="It runs in a browser or on a device, and cannot keep a secret."
            {...form.getInputProps('is_public', { type: 'checkbox' })}
          />
          {values.is_public && openid?.has_secret && (
            <Warning>When you save, the secret of the app stops working.</Warning>
          )}
          <ClaimChoice form={form} />
          <Advanced form={form} openid={openid} />
          {onCancel ? (
            <>
              <ProblemAlert error={buttons.problem} />
              <Group>
                <Button type="submit" loading={buttons.isSaving}>
                  Set up
                </Button>
                <Button variant="default" onClick={onCancel}>
                  Cancel
                </Button>
              </Group>
            </>
          ) : (
            <FormButtons {...buttons} save="Save settings" />
          )}
        </Stack>
      </form>
      {prompt}
    </>
  );
};

type FieldsProps = { form: UseFormReturnType<OpenidValues> };

const ClaimChoice = ({ form }: FieldsProps) => (
  <Checkbox.Group
    label="What the app may get about a person"
    description="From this list, the app gets what it asks for. It always learns how and when the person logged in."
    {...form.getInputProps('claims')}
    onChange={(chosen) => form.setFieldValue('claims', inOrder(chosen))}
  >
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs" pt="xs">
      {CLAIMS.map((claim) => (
        <Checkbox key={claim} value={claim} label={CLAIM_LABELS[claim]} description={claim} />
      ))}
    </SimpleGrid>
  </Checkbox.Group>
);

/** Settings that few apps need. They are shown at first if one was changed. */
const Advanced = ({ form, openid }: FieldsProps & { openid: OpenidApp | undefined }) => {
  const values = form.getValues();
  const [isOpen, { toggle }] = useDisclosure(
    values.is_pairwise || !values.requires_pkce || values.signing_algorithm !== 'RS256',
  );
  return (
    <div>
      <DisclosureButton isOpen={isOpen} onToggle={toggle}>
        Advanced
      </DisclosureButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        {isOpen && (
          <Stack pt="sm">
            <NamedSwitch
              label="A different subject in each app"
              description="Apps cannot find out that two of them have the same person. All redirect addresses must be on one host."
              {...form.getInputProps('is_pairwise', { type: 'checkbox' })}
            />
            {openid && values.is_pairwise !== openid.is_pairwise && (
              <Warning>When you save, the app sees everyone as a new person.</Warning>
            )}
            {!values.is_public && (
              <NamedSwitch
                label="PKCE is required"
                description="Turn it off only for an old app that does not support PKCE. Its secret is then the only protection of a login."
                {...form.getInputProps('requires_pkce', { type: 'checkbox' })}
              />
            )}
            <Radio.Group label="Signing algorithm" {...form.getInputProps('signing_algorithm')}>
              <Stack gap="xs" mt="xs">
                <Radio value="RS256" label="RS256, which all apps can check" />
                <Radio value="ES256" label="ES256, whose tokens are shorter" />
              </Stack>
            </Radio.Group>
          </Stack>
        )}
      </Collapse>
    </div>
  );
};

/** What saving this would do. */
const Warning = ({ children }: { children: ReactNode }) => (
  <Text size="sm" role="status" c="var(--console-warning)">
    {children}
  </Text>
);

/** A form for the OpenID settings of an app. @param openid undefined: not set up yet */
const useOpenidForm = (appId: string, openid: OpenidApp | undefined) => {
  const queryClient = useQueryClient();
  const refresh = useOpenidRefresh();
  const stored = valuesOf(openid);
  const form = useForm({ initialValues: stored });
  useFollow(form, openid ?? NOTHING, stored);
  useDraft(openid ? 'openid' : 'new openid', form);
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation({
    mutationFn: (values: OpenidValues) => steward.api.openid.update.mutate({ app_id: appId, ...values }),
    onSuccess: (saved) => {
      show(form, valuesOf(saved));
      queryClient.setQueryData(openidQuery(appId).queryKey, saved);
      refresh();
      if (!openid) notify('OpenID Connect was set up.');
    },
    onError: (error, values) => {
      form.setErrors(joined(fieldErrors(error)));
      onError(error, () => update.mutate(values));
    },
  });
  const submit = (typed: OpenidValues): void => {
    const values = withoutEmptyRows(typed);
    form.setValues(values);
    update.mutate(values);
  };
  const buttons: FormButtonsProps = {
    isDirty: form.isDirty(),
    isSaving: update.isPending,
    isSaved: update.isSuccess,
    // Errors of fields are shown at the fields.
    problem: Object.keys(fieldErrors(update.error)).length > 0 ? null : withoutConfirmation(update.error),
    onDiscard: () => show(form, valuesOf(openid)),
  };
  return { form, onSubmit: form.onSubmit(submit), buttons, prompt };
};

/** The same object at each rendering, because a new record would be shown. */
const NOTHING = {};

/** The limit of the service. */
const MAX_ROWS = 20;

type AddressRowsProps = {
  form: UseFormReturnType<OpenidValues>;
  field: 'redirect_uris' | 'post_logout_redirect_uris';
  legend: string;
  description: string;
  /** The name of a row, before its number: `Redirect address`. */
  rowName: string;
  placeholder: string;
  /** Whether the first row has the focus when it appears. */
  isFocused?: boolean;
};

/** Addresses, one per row. */
const AddressRows = ({
  form,
  field,
  legend,
  description,
  rowName,
  placeholder,
  isFocused = false,
}: AddressRowsProps) => {
  const rows = form.getValues()[field];
  const error = form.errors[field];
  /** The row that has the focus when it appears. */
  const [added, setAdded] = useState(isFocused ? 0 : null);
  const add = (): void => {
    setAdded(rows.length);
    form.insertListItem(field, '');
  };
  return (
    <Stack gap="xs" component="fieldset" bd="none" p={0} m={0} miw={0}>
      <Text component="legend" size="sm" fw={600} p={0} mb={4}>
        {legend}
      </Text>
      <Text size="xs" c="dimmed">
        {description}
      </Text>
      {rows.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no ids, and their fields are controlled
        <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
          <TextInput
            aria-label={`${rowName} ${index + 1}`}
            placeholder={placeholder}
            flex={1}
            maxLength={2048}
            inputMode="url"
            spellCheck={false}
            autoFocus={index === added}
            {...form.getInputProps(`${field}.${index}`)}
          />
          {/* In the middle of the input, also if an error is below that. */}
          <Box mt={3}>
            <RemoveButton
              label={`Remove ${rowName.toLowerCase()} ${index + 1}`}
              onClick={() => form.removeListItem(field, index)}
            />
          </Box>
        </Group>
      ))}
      {error && (
        <Text size="xs" role="alert" c="var(--mantine-color-error)">
          {error}
        </Text>
      )}
      {rows.length < MAX_ROWS && (
        <div>
          <Button variant="default" size="compact-sm" onClick={add}>
            Add {rowName.toLowerCase()}
          </Button>
        </div>
      )}
    </Stack>
  );
};
