import { Alert, Button, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { timeText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { type OpenidApp, useNewSecret } from './use-openid.ts';

/** The values to enter in the app. Its secret is shown right after it was made. */
export const WhatAppNeeds = ({ openid }: { openid: OpenidApp }) => {
  const { issuer, client_id: clientId, is_public: isPublic } = openid;
  return (
    <section className="card" aria-labelledby="openid-needs">
      <Stack maw="40rem">
        <Title order={2} size="h3" id="openid-needs">
          What the app needs
        </Title>
        <Text c="dimmed">Enter these values in the app, and turn PKCE on in it, with the method S256.</Text>
        <SecretField label="Issuer" value={issuer} isSecondary />
        <SecretField
          label="Discovery address"
          value={`${issuer}/.well-known/openid-configuration`}
          isSecondary
        />
        <SecretField label="Client ID" value={clientId} isSecondary />
        {isPublic ? (
          <Text size="sm" c="dimmed">
            A public app has no secret.
          </Text>
        ) : (
          <ClientSecret openid={openid} />
        )}
      </Stack>
    </section>
  );
};

const ClientSecret = ({ openid }: { openid: OpenidApp }) => {
  const { client_id: clientId, has_secret: hasSecret, previous_until: until } = openid;
  const [isAsking, { open, close }] = useDisclosure();
  const { create, isPending, made, error, prompt } = useNewSecret(clientId);
  return (
    <>
      {made && (
        <>
          <Alert color="orange" variant="light">
            Copy the secret now. It is not shown again.
          </Alert>
          <SecretField key={made.secret} label="Client secret" value={made.secret} />
        </>
      )}
      {!made && (
        <Text size="sm" c="dimmed">
          {hasSecret
            ? 'The client secret was shown when it was made. If it is lost, make a new one.'
            : 'The app has no client secret yet, and needs one to log people in.'}
        </Text>
      )}
      {until && <Text size="sm">The previous secret works until {timeText(until)}.</Text>}
      <ProblemAlert error={error} />
      <div>
        <Button
          {...(hasSecret && { variant: 'default' })}
          loading={isPending}
          onClick={hasSecret ? open : create}
        >
          New secret
        </Button>
      </div>
      {prompt}
      <ConfirmModal
        isOpen={isAsking}
        title="Make a new secret?"
        action="Make it"
        onConfirm={create}
        onClose={close}
      >
        <Text>
          Enter it in the app within 24 hours: until then, the present one works too.
          {until && ' The one before it stops at once.'}
        </Text>
      </ConfirmModal>
    </>
  );
};
