-- Lets HAProxy (2.5 or newer) ask Steward before a request reaches an app, which the first part of the path names:
--   global
--     lua-load /etc/haproxy/steward-gate.lua
--   frontend apps
--     http-request lua.steward_gate http://127.0.0.1:8000
--     default_backend apps

local ASKED_WITH = { "cookie", "authorization", "accept", "host" }
local TIMEOUT_MS = 5000

local function refuse(txn, status, headers, body)
  headers["cache-control"] = { "no-store" }
  txn:done(txn:reply({ status = status, headers = headers, body = body }))
end

core.register_action("steward_gate", { "http-req" }, function(txn, steward)
  local headers = txn.http:req_get_headers()
  -- Only Steward says who the user is.
  for name in pairs(headers) do
    if name:match("^x%-steward%-") then txn.http:req_del_header(name) end
  end
  local slug = txn.sf:path():match("^/([a-z0-9_-]+)/")
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
  for name, values in pairs(answer.headers) do
    if name:match("^x%-steward%-") then txn.http:req_set_header(name, values[0]) end
  end
end, 1)
