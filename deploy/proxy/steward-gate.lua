-- Lets HAProxy (2.5 or newer) ask Steward before a request reaches an app, which the first part of the path names:
--   global
--     lua-load /etc/haproxy/steward-gate.lua
--   frontend apps
--     http-request lua.steward_gate http://127.0.0.1:8000
--     # HAProxy continues after an error in a script.
--     http-request deny deny_status 503 unless { var(txn.steward_admitted) -m bool }
--     http-response add-header Content-Security-Policy "frame-ancestors %[var(txn.steward_frame_ancestors)]"
--     default_backend apps
--   backend apps
--     # Ends WebSockets that are silent.
--     timeout tunnel 1h
--     server app 127.0.0.1:4010

local ASKED_WITH = { "cookie", "authorization", "accept", "host" }
local TIMEOUT_MS = 5000
local TOKEN_SCHEMES = { token = true, bearer = true, jwt = true }
-- What apps may read as another path: then another app would respond than the one that Steward was asked about.
local AMBIGUOUS = { "//", "\\", ";", "%2e", "%2f", "%5c" }
-- An app may decode a path more than once: `%252e` and `%25%32%65` are dots, too.
local ENCODED_AGAIN = { "%%25[25]", "%%25%%[25]*3[25]" }

local function is_ambiguous(path)
  local lower = path:lower()
  -- A `%` that encodes nothing.
  if lower:gsub("%%%x%x", ""):find("%", 1, true) then return true end
  for _, part in ipairs(AMBIGUOUS) do
    if lower:find(part, 1, true) then return true end
  end
  for _, pattern in ipairs(ENCODED_AGAIN) do
    if lower:find(pattern) then return true end
  end
  return (path .. "/"):find("/%.%.?/") ~= nil
end

local function refuse(txn, status, headers, body)
  headers["cache-control"] = { "no-store" }
  txn:done(txn:reply({ status = status, headers = headers, body = body }))
end

-- Only Steward says who the user is. Apps of WSGI and CGI read `X_Steward_User` as the same header.
local function remove_claims(txn, headers)
  for name in pairs(headers) do
    if name:gsub("%W", "-"):match("^x%-steward%-") then txn.http:req_del_header(name) end
  end
end

-- An app could act at Steward in the name of the person.
local function remove_credentials(txn, headers)
  for _, value in pairs(headers["authorization"] or {}) do
    local scheme = value:lower():match("^%s*(%a+)")
    if TOKEN_SCHEMES[scheme] then txn.http:req_del_header("authorization") end
  end
  local kept = {}
  for _, value in pairs(headers["cookie"] or {}) do
    for cookie in value:gmatch("[^;%s][^;]*") do
      local name = cookie:gsub("^__Host%-", "")
      if not name:match("^steward_") and not name:match("^csrftoken=") then table.insert(kept, cookie) end
    end
  end
  txn.http:req_del_header("cookie")
  if #kept > 0 then txn.http:req_add_header("cookie", table.concat(kept, "; ")) end
end

-- A proxy drops the headers that this one names, also those of Steward.
local function replace_connection(txn, headers)
  local is_websocket = headers["upgrade"] and headers["upgrade"][0]:lower() == "websocket"
  txn.http:req_del_header("connection")
  if is_websocket then txn.http:req_set_header("connection", "upgrade") end
end

core.register_action("steward_gate", { "http-req" }, function(txn, steward)
  local headers = txn.http:req_get_headers()
  remove_claims(txn, headers)
  replace_connection(txn, headers)
  local path = txn.sf:path() or ""
  if is_ambiguous(path) then return refuse(txn, 400, {}, "Ambiguous path.\n") end
  local slug = path:match("^/([a-z0-9_-]+)/")
  if not slug then return refuse(txn, 404, {}, "No such app.\n") end

  local asked = { ["x-forwarded-for"] = { txn.sf:src() } }
  for _, name in ipairs(ASKED_WITH) do
    if headers[name] then asked[name] = { headers[name][0] } end
  end
  local url = steward .. "/gate/" .. slug .. "/"
  local answer = core.httpclient():get({ url = url, headers = asked, timeout = TIMEOUT_MS })
  if not answer or answer.status == 0 then return refuse(txn, 503, {}, "Steward cannot be reached.\n") end
  if answer.status == 401 and answer.headers["x-steward-login"] then
    return refuse(txn, 303, { location = { answer.headers["x-steward-login"][0] } }, "")
  end
  if answer.status ~= 204 then
    local kind = answer.headers["content-type"]
    return refuse(txn, answer.status, { ["content-type"] = { kind and kind[0] or "text/plain" } }, answer.body)
  end
  remove_credentials(txn, headers)
  for name, values in pairs(answer.headers) do
    if name:match("^x%-steward%-") then txn.http:req_set_header(name, values[0]) end
  end
  txn:set_var("txn.steward_frame_ancestors", answer.headers["x-steward-frame-ancestors"][0])
  txn:set_var("txn.steward_admitted", true)
end, 1)
