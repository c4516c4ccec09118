import{modules as o}from"./25097.shared.js";import{modules as s}from"./58113.shared.js";const t=5097,d=[5097],m={...o,...s};export{t as id,d as ids,m as modules};
