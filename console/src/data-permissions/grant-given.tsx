import { Button, Stack } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMemo, useState } from 'react';
import { useAppLabels } from '../components/changes.tsx';
import { joined } from '../components/form-fields.ts';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { AppRoleChips } from './app-role-chips.tsx';
import { AttributeFields, faultsIn } from './attribute-fields.tsx';
import { useDeclared } from './declared.ts';

/** What a grant gives in its app. `attributes`: the text of a JSON object. */
export type Given = { roles: string[]; attributes: string };

export const NOTHING_GIVEN: Given = { roles: [], attributes: '' };

type Grant = { app_roles: string[]; attributes: Record<string, unknown> | null };

export const givenOf = ({ app_roles: roles, attributes }: Grant): Given => ({
  roles,
  attributes: objectText(attributes ?? {}),
});

export const isComplete = ({ attributes }: Given): boolean => objectFault(attributes) === null;

/** Converts to the input of the procedures. */
export const grantOf = ({ roles, attributes }: Given): Grant => ({
  app_roles: roles,
  attributes: attributes.trim() === '' ? null : parseObject(attributes),
});

type Props = {
  /** Its id. */
  app: string;
  client: number;
  value: Given;
  onChange: (value: Given) => void;
  /** Why the last save failed. */
  error: unknown;
};

/** The roles and data permissions of a person in one app. Nothing for apps that declare neither. */
export const GrantGiven = ({ app, client, value, onChange, error }: Props) => {
  const declared = useDeclared(client, app);
  const roles = declared.roles.get(app) ?? [];
  const label = useAppLabels().get(app) ?? app;
  const [isOpen, setOpen] = useState(value.attributes !== '');
  const faults = useMemo(() => faultsIn(error, 'attributes'), [error]);
  if (roles.length === 0 && declared.attributes.length === 0 && value.attributes === '') return null;
  return (
    <Stack gap="sm">
      {roles.length > 0 && (
        <AppRoleChips
          label={`Roles in ${label}`}
          roles={roles}
          value={value.roles}
          error={joined(fieldErrors(error)).app_roles}
          onChange={(keys) => onChange({ ...value, roles: keys })}
        />
      )}
      {isOpen || faults.length > 0 ? (
        <AttributeFields
          attributes={declared.attributes}
          label={`Data permissions in ${label}`}
          description="They apply in this app only, and replace those of the person."
          faults={faults}
          value={value.attributes}
          onChange={(attributes) => onChange({ ...value, attributes })}
        />
      ) : (
        declared.attributes.length > 0 && (
          <div>
            <Button variant="default" size="xs" onClick={() => setOpen(true)}>
              Data permissions in {label}…
            </Button>
          </div>
        )
      )}
    </Stack>
  );
};
