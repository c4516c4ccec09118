import{modules as o}from"./20010.shared.js";import{modules as s}from"./85992.shared.js";const t=6406,d=[6406],m={...o,...s};export{t as id,d as ids,m as modules};
