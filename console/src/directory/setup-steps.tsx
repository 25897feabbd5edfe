import { Code, List, SegmentedControl, Stack } from '@mantine/core';
import { type ComponentType, useState } from 'react';

const PRODUCTS = ['Microsoft Entra ID', 'Okta', 'Other'] as const;
type Product = (typeof PRODUCTS)[number];

/** What to enter where, in a directory that is to be connected. */
export const SetupSteps = () => {
  const [product, setProduct] = useState<Product>('Microsoft Entra ID');
  const Steps = STEPS[product];
  return (
    <Stack gap="sm" align="flex-start">
      <SegmentedControl
        aria-label="Directory"
        data={[...PRODUCTS]}
        value={product}
        onChange={(value) => setProduct(value as Product)} // one of the choices
      />
      <Steps />
    </Stack>
  );
};

const Entra = () => (
  <List type="ordered" spacing="xs">
    <List.Item>
      In the Microsoft Entra admin center, open “Enterprise applications”, “New application”, “Create your own
      application”. Name it Steward, and choose “Integrate any other application you don’t find in the
      gallery”.
    </List.Item>
    <List.Item>Open “Provisioning” of this application, and connect it.</List.Item>
    <List.Item>
      Enter the address as <b>Tenant URL</b>, and the token as <b>Secret Token</b>.
    </List.Item>
    <List.Item>
      Press <b>Test Connection</b>, then save.
    </List.Item>
    <List.Item>Under “Users and groups”, choose who belongs to this client.</List.Item>
    <List.Item>
      Under “Provisioning”, start it. Microsoft Entra ID sends changes about every 40 minutes.
    </List.Item>
  </List>
);

const Okta = () => (
  <List type="ordered" spacing="xs">
    <List.Item>
      In the Okta Admin Console, open “Applications” and the application of Steward, or create one. Under
      “General”, turn SCIM provisioning on.
    </List.Item>
    <List.Item>
      Under “Provisioning”, “Integration”, enter the address as <b>Base URL</b>, and <Code>userName</Code> as{' '}
      <b>Unique identifier field for users</b>.
    </List.Item>
    <List.Item>
      Choose “Push New Users”, “Push Profile Updates” and “Push Groups”, the authentication mode{' '}
      <b>HTTP Header</b>, and enter the token.
    </List.Item>
    <List.Item>
      Press <b>Test Connector Configuration</b>, then save.
    </List.Item>
    <List.Item>
      Under “To App”, turn on “Create Users”, “Update User Attributes” and “Deactivate Users”.
    </List.Item>
    <List.Item>Under “Assignments” and “Push Groups”, choose who belongs to this client.</List.Item>
  </List>
);

const Other = () => (
  <List type="ordered" spacing="xs">
    <List.Item>In your directory, add an application with provisioning by SCIM 2.0.</List.Item>
    <List.Item>
      Enter the address as its <b>base URL</b>, and the token as <b>bearer token</b>, in the header{' '}
      <Code>Authorization</Code>.
    </List.Item>
    <List.Item>
      Choose <Code>userName</Code> as the attribute that identifies a person.
    </List.Item>
    <List.Item>Test the connection, choose who belongs to this client, and start it.</List.Item>
  </List>
);

const STEPS: Record<Product, ComponentType> = {
  'Microsoft Entra ID': Entra,
  Okta,
  Other,
};
