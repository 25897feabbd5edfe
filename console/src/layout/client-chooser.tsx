import { Avatar, Combobox, Text, UnstyledButton, useCombobox, VisuallyHidden } from '@mantine/core';
import { IconSelector } from '@tabler/icons-react';
import { useState } from 'react';
import { useClientChoice } from './client-choice.ts';
import classes from './client-chooser.module.css';

const MAX_WITHOUT_SEARCH = 8;
const ALL = 'all';

/** Above the navigation, for users who see several clients: chooses the client whose data lists show. */
export const ClientChooser = () => {
  const { clients, client, hasAll, choose } = useClientChoice();
  const [search, setSearch] = useState('');
  const combobox = useCombobox({
    onDropdownOpen: () => combobox.focusSearchInput(),
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      setSearch('');
    },
  });
  if (clients.length < 2) return null;
  const matches = (name: string): boolean => name.toLowerCase().includes(search.trim().toLowerCase());
  const name = client?.name ?? 'All clients';
  return (
    <Combobox
      store={combobox}
      keepMounted={false}
      position="bottom-start"
      onOptionSubmit={(value) => {
        choose(value === ALL ? undefined : Number(value));
        combobox.closeDropdown();
        combobox.focusTarget();
      }}
    >
      <Combobox.Target targetType="button">
        <UnstyledButton className={classes.button} onClick={() => combobox.toggleDropdown()}>
          <VisuallyHidden>Client: </VisuallyHidden>
          <Avatar size={24} color={client ? 'green' : 'gray'} aria-hidden>
            {client ? client.name.charAt(0) : '∗'}
          </Avatar>
          <Text span fw={600} truncate flex={1}>
            {name}
          </Text>
          <IconSelector size={16} stroke={1.6} aria-hidden />
        </UnstyledButton>
      </Combobox.Target>
      <Combobox.Dropdown>
        {clients.length > MAX_WITHOUT_SEARCH && (
          <Combobox.Search
            aria-label="Search clients"
            placeholder="Search"
            value={search}
            onChange={({ currentTarget }) => {
              setSearch(currentTarget.value);
              combobox.selectFirstOption();
            }}
          />
        )}
        <Combobox.Options aria-label="Client" mah="20rem" className="scrolls">
          {hasAll && matches('All clients') && (
            <Combobox.Option value={ALL} active={client === undefined}>
              All clients
            </Combobox.Option>
          )}
          {clients
            .filter((one) => matches(one.name))
            .map((one) => (
              <Combobox.Option key={one.id} value={String(one.id)} active={one.id === client?.id}>
                {one.name}
              </Combobox.Option>
            ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
};
