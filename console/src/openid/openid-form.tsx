import {
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
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import type { App } from '../apps/app-of.ts';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AddressRows } from './address-rows.tsx';
import { CLAIM_LABELS, CLAIMS, inOrder, type OpenidValues } from './openid-values.ts';
import type { OpenidApp } from './use-openid.ts';
import { useOpenidForm } from './use-openid-form.ts';

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
            description="Where people go after they have logged in. The app's documentation names it. It is compared letter by letter."
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
            description="Receives a request when a login has ended. If empty, none is sent."
            maxLength={2048}
            inputMode="url"
            spellCheck={false}
            {...form.getInputProps('backchannel_logout_uri')}
          />
          <NamedSwitch
            label="Public app"
            description="It runs in a browser or on a device, and keeps no secret."
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
    description="Of these, it gets what it asks for. It always gets how and when they logged in."
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
              description="Apps cannot find out that they have the same person. All redirect addresses must be of one host."
              {...form.getInputProps('is_pairwise', { type: 'checkbox' })}
            />
            {openid && values.is_pairwise !== openid.is_pairwise && (
              <Warning>When you save, the app takes everyone for a person it does not know yet.</Warning>
            )}
            {!values.is_public && (
              <NamedSwitch
                label="PKCE is required"
                description="Turn it off only for an old app that does not support PKCE. Then its secret alone protects a login."
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
