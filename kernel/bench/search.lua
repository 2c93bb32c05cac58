-- SPDX-License-Identifier: MIT OR Apache-2.0
-- The search of kernel/bench/web and kernel/bench/mix: guitar music by title or player, in a list that each worker of the server has in memory. mod_lua calls handle.
local music = {}
for i = 1, 2000 do
    music[i] = "title " .. i * 7919 % 10007 .. " played by " .. i * 104729 % 997
end

function handle(request)
    local found = 0
    for _, line in ipairs(music) do
        if line:find("by 4%d%d$") then
            found = found + 1
        end
    end
    request.content_type = "text/plain"
    -- The client counts this character.
    request:puts(found .. " found~\n")
    return apache2.OK
end
