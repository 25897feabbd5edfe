import { MultiSelect, Select, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { capitalized } from '../components/detail-words.ts';
import { EndChoice } from '../components/end-choice.tsx';
import { AttributeFields } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { CLIENT_ROLES, refusalOf, roleLabel } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { roleSentence } from '../roles/role-words.ts';
import type { SharedAccess } from './use-invite-list.ts';

const MAX_GROUPS = 200;

type Props = {
  client: number;
  access: SharedAccess;
  onChange: (changes: Partial<SharedAccess>) => void;
};

/** The groups that all people of the list join, and the end of their access to the chosen apps. */
export const SharedAccessForm = ({ client, access, onChange }: Props) => {
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client, limit: MAX_GROUPS }));
  const { attributes } = useDeclared(client);
  const own = useSession().roles;
  const roles = CLIENT_ROLES.filter((role) => refusalOf(own, role, client) === null);
  const role = roles.find(({ name }) => name === access.role);
  return (
    <SimpleGrid
      component="section"
      aria-label="For everyone in the list"
      className="card"
      cols={{ base: 1, sm: 2 }}
      mb="md"
    >
      <MultiSelect
        label="Groups for everyone in the list"
        description="They join these groups when they accept."
        placeholder={access.groups.length === 0 ? 'None' : ''}
        searchable
        clearable
        data={(groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
        value={access.groups}
        onChange={(chosen) => onChange({ groups: chosen })}
      />
      <div>
        <EndChoice label="Apps until" value={access.end} onChange={(end) => onChange({ end })} />
        <Text size="xs" c="dimmed">
          Apps of groups do not end.
        </Text>
      </div>
      {roles.length > 0 && (
        <Select
          label="Role for everyone in the list"
          description={role ? roleSentence(role) : 'Members open their apps.'}
          allowDeselect={false}
          data={[
            { value: '', label: 'Member' },
            ...roles.map((one) => ({ value: one.name, label: capitalized(roleLabel(one)) })),
          ]}
          value={access.role}
          onChange={(name) => onChange({ role: roles.find((one) => one.name === name)?.name ?? '' })}
        />
      )}
      {attributes.length > 0 && (
        <AttributeFields
          attributes={attributes}
          label="Data permissions for everyone in the list"
          value={access.extra}
          onChange={(extra) => onChange({ extra })}
        />
      )}
    </SimpleGrid>
  );
};
